#include "lerobot/config/image_transforms_config.hpp"

#include <gmock/gmock.h>

#include "config/config_test_support.hpp"

namespace lerobot {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// What validation says of one enabled transform.
std::vector<std::string> problems_of(const std::string& type, Json kwargs, double weight = 1.0, bool enable = true) {
  ImageTransformsConfig config;
  config.enable = enable;
  config.tfs = {{"mine", {weight, type, std::move(kwargs)}}};
  config::Problems problems;
  const auto dataset = problems.enter("dataset");
  const auto section = problems.enter("image_transforms");
  config.validate(problems);
  return problems.lines();
}

template <typename Arguments>
Arguments read(const std::string& type, Json kwargs) {
  std::vector<std::string> problems;
  auto arguments = read_image_transform({1.0, type, std::move(kwargs)}, problems);
  EXPECT_THAT(problems, IsEmpty());
  return std::get<Arguments>(arguments);
}

TEST(ImageTransformKwargs, ANumberStandsForARangeAboutNoChange) {
  const auto jitter = read<ColorJitterArguments>(
      "ColorJitter", {{"brightness", 0.25}, {"contrast", 3}, {"saturation", nullptr}, {"hue", 0.5}});
  EXPECT_EQ(jitter.brightness, (Range{0.75, 1.25}));
  EXPECT_EQ(jitter.contrast, (Range{0.0, 4.0}));
  EXPECT_EQ(jitter.saturation, std::nullopt);
  EXPECT_EQ(jitter.hue, (Range{-0.5, 0.5}));
  EXPECT_EQ(read<SharpnessJitterArguments>("SharpnessJitter", {{"sharpness", 2}}).sharpness, (Range{0.0, 3.0}));
  const auto affine = read<RandomAffineArguments>("RandomAffine", {{"degrees", 30}, {"shear", 4.5}});
  EXPECT_EQ(affine.degrees, (Range{-30.0, 30.0}));
  EXPECT_EQ(affine.shear_x, (Range{-4.5, 4.5}));
  EXPECT_EQ(affine.shear_y, std::nullopt);
}

TEST(ImageTransformKwargs, RangesAreTakenAsGiven) {
  EXPECT_EQ(read<ColorJitterArguments>("ColorJitter", {{"hue", {-0.25, 0.0}}}).hue, (Range{-0.25, 0.0}));
  const auto affine = read<RandomAffineArguments>("RandomAffine", {{"degrees", {-1, 2}},
                                                                   {"translate", {0.25, 1}},
                                                                   {"scale", {0.5, 1.5}},
                                                                   {"shear", {1, 2, -4, -3}},
                                                                   {"interpolation", 2},
                                                                   {"fill", {10, 20, 30}},
                                                                   {"center", {5, 6.5}}});
  EXPECT_EQ(affine.degrees, (Range{-1.0, 2.0}));
  EXPECT_EQ(affine.translate, (std::array{0.25, 1.0}));
  EXPECT_EQ(affine.scale, (Range{0.5, 1.5}));
  EXPECT_EQ(affine.shear_x, (Range{1.0, 2.0}));
  EXPECT_EQ(affine.shear_y, (Range{-4.0, -3.0}));
  EXPECT_TRUE(affine.is_bilinear);
  EXPECT_THAT(affine.fill.value(), ElementsAre(10.0, 20.0, 30.0));
  EXPECT_EQ(affine.center, (std::array{5.0, 6.5}));
}

TEST(ImageTransformKwargs, TheDefaultFillIsBlackAndNullIsNone) {
  EXPECT_THAT(read<RandomAffineArguments>("RandomAffine", {{"degrees", 1}}).fill.value(), ElementsAre(0.0));
  EXPECT_EQ(read<RandomAffineArguments>("RandomAffine", {{"degrees", 1}, {"fill", nullptr}}).fill, std::nullopt);
}

TEST(ImageTransformKwargs, WrongOnesAreNamed) {
  struct Case {
    const char* type;
    Json kwargs;
    const char* said;
  };
  const std::vector<Case> cases = {
      {"ColorJitter", {{"brightness", -0.1}}, "kwargs.brightness: a single number must not be negative, got -0.1"},
      {"ColorJitter",
       {{"brightness", {-0.1, 1}}},
       "kwargs.brightness: must be [min, max] with min <= max, 0.0 or more"},
      {"ColorJitter", {{"contrast", {1.2, 0.8}}}, "kwargs.contrast: must be [min, max] with min <= max"},
      {"ColorJitter", {{"contrast", {1, 2, 3}}}, "kwargs.contrast: must be a number or [min, max], got [1, 2, 3]"},
      {"ColorJitter", {{"saturation", "0.5"}}, "kwargs.saturation: must be a number or [min, max], got \"0.5\""},
      {"ColorJitter", {{"hue", 0.6}}, "kwargs.hue: must be [min, max] with min <= max, -0.5 or more, 0.5 or less"},
      {"ColorJitter", {{"hue", {-0.6, 0}}}, "kwargs.hue: must be [min, max]"},
      {"ColorJitter", {{"gamma", 1}}, "kwargs.gamma: unknown; ColorJitter takes brightness, contrast, saturation, hue"},
      {"SharpnessJitter", Json::object(), "kwargs.sharpness: must be given"},
      {"SharpnessJitter", {{"sharpness", {2, 1}}}, "kwargs.sharpness: must be [min, max]"},
      {"RandomAffine", Json::object(), "kwargs.degrees: must be given"},
      {"RandomAffine", {{"degrees", -5}}, "kwargs.degrees: a single number must not be negative, got -5"},
      {"RandomAffine", {{"degrees", {5, -5}}}, "kwargs.degrees: must be [min, max]"},
      {"RandomAffine",
       {{"degrees", 0}, {"translate", 0.1}},
       "kwargs.translate: must be two numbers from 0 to 1, got 0.1"},
      {"RandomAffine", {{"degrees", 0}, {"translate", {0.1, 1.5}}}, "kwargs.translate: must be two numbers"},
      {"RandomAffine", {{"degrees", 0}, {"scale", {0, 1}}}, "kwargs.scale: must be [min, max] of two positive numbers"},
      {"RandomAffine", {{"degrees", 0}, {"scale", {2, 1}}}, "kwargs.scale: must be [min, max] with min <= max"},
      {"RandomAffine", {{"degrees", 0}, {"shear", {1, 2, 3}}}, "kwargs.shear: must be a number or [min, max]"},
      {"RandomAffine", {{"degrees", 0}, {"shear", {1, 2, 4, 3}}}, "kwargs.shear: must be [min, max]"},
      {"RandomAffine", {{"degrees", 0}, {"interpolation", 3}}, "kwargs.interpolation: must be 0 (nearest) or 2"},
      {"RandomAffine", {{"degrees", 0}, {"fill", 256}}, "kwargs.fill: must be a number from 0 to 255"},
      {"RandomAffine", {{"degrees", 0}, {"center", {1}}}, "kwargs.center: must be two numbers"},
      {"Identity", {{"p", 1}}, "kwargs.p: Identity takes no kwargs"},
      {"Identity", Json::array(), "kwargs: must be a dict"},
      {"GaussianBlur",
       {{"kernel_size", 3}},
       "type 'GaussianBlur' is not supported; supported are Identity, ColorJitter, SharpnessJitter and RandomAffine"},
  };
  for (const Case& wrong : cases) {
    EXPECT_THAT(problems_of(wrong.type, wrong.kwargs),
                ElementsAre(AllOf(StartsWith("--dataset.image_transforms.tfs: `mine`: "), HasSubstr(wrong.said))))
        << wrong.type << " " << wrong.kwargs;
  }
}

TEST(ImageTransformsConfig, IsCheckedNoFurtherThanItIsUsed) {
  EXPECT_THAT(problems_of("Nope", Json::object(), 1.0, false), IsEmpty());
  EXPECT_THAT(problems_of("Nope", Json::object(), 0.0), IsEmpty());
  EXPECT_THAT(problems_of("Nope", Json::object(), -1.0), IsEmpty());
  EXPECT_THAT(problems_of("Identity", Json::object(), std::numeric_limits<double>::infinity()),
              ElementsAre(HasSubstr("must be a finite number, got inf")));
}

TEST_F(CommandLineTest, ReportsEveryWrongImageTransformByItsFlag) {
  const auto wrong = [&](const std::string& enable) {
    return error_of(
        with(base_, {"--dataset.image_transforms.enable=" + enable, "--dataset.image_transforms.max_num_transforms=-1",
                     "--dataset.image_transforms.tfs={a: {type: ColorJitter, kwargs: {hue: [0, 1]}}, "
                     "b: {type: Nope}}"}));
  };
  EXPECT_THAT(wrong("true"), AllOf(HasSubstr("--dataset.image_transforms.max_num_transforms: must not be negative"),
                                   HasSubstr("--dataset.image_transforms.tfs: `a`: kwargs.hue: "),
                                   HasSubstr("--dataset.image_transforms.tfs: `b`: type 'Nope'")));
  EXPECT_EQ(wrong("false"), "");
}

}  // namespace
}  // namespace lerobot
