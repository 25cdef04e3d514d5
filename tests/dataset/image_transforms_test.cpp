#include "lerobot/dataset/image_transforms.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "image_transform_operations.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/safetensors.hpp"
#include "lerobot/dataset/dataset.hpp"
#include "lerobot/dataset/loader.hpp"
#include "support/torch.hpp"

namespace lerobot::dataset {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::filesystem::path kData = LEROBOT_TEST_DATA;

// --- Pixels, against torchvision ---

ImageOperation affine_of(const Json& call) {
  Affine affine{.degrees = call["degrees"], .is_bilinear = call.value("bilinear", false)};
  const auto pair = [&](const char* name) { return call.value(name, std::array<double, 2>{}); };
  affine.translate_x = pair("translate")[0];
  affine.translate_y = pair("translate")[1];
  affine.shear_x = pair("shear")[0];
  affine.shear_y = pair("shear")[1];
  affine.scale = call.value("scale", 1.0);
  if (call.contains("center")) affine.center = pair("center");
  if (call.contains("fill")) {
    const Json& fill = call["fill"];
    affine.fill.reset();
    if (fill.is_array()) affine.fill = fill.get<std::vector<double>>();
    if (fill.is_number()) affine.fill = std::vector<double>{fill.get<double>()};
  }
  return affine;
}

ImageOperation operation_of(const Json& call) {
  const std::string name = call["operation"];
  if (name == "affine") return affine_of(call);
  const double factor = call["factor"];
  if (name == "brightness") return Brightness{factor};
  if (name == "contrast") return Contrast{factor};
  if (name == "saturation") return Saturation{factor};
  if (name == "sharpness") return Sharpness{factor};
  return Hue{factor};
}

// [C, H, W] or [T, C, H, W].
template <typename Pixel>
torch::Tensor applied(const ImageOperation& operation, const torch::Tensor& input) {
  torch::Tensor output = input.clone();
  const torch::Tensor frames = output.dim() == 4 ? output : output.unsqueeze(0);
  for (int64_t t = 0; t < frames.size(0); ++t) {
    const torch::Tensor frame = frames[t];
    const ImageView<Pixel> image{
        {frame.data_ptr<Pixel>(), static_cast<size_t>(frame.numel())}, frame.size(0), frame.size(1), frame.size(2)};
    std::visit([&](const auto& chosen) { apply(chosen, image); }, operation);
  }
  return output;
}

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat64) - b.to(torch::kFloat64)).abs().max().item<double>();
}

class TorchvisionCalls : public ::testing::Test {
 protected:
  const TensorMap tensors_ = load_safetensors(kData / "image_transforms/torchvision.safetensors");
  const Json calls_ = read_json(kData / "image_transforms/torchvision.json");
};

TEST_F(TorchvisionCalls, GiveTheSameBytes) {
  ASSERT_EQ(calls_.size(), 32U);
  for (size_t i = 0; i < calls_.size(); ++i) {
    const ImageOperation operation = operation_of(calls_[i]);
    const double allowed = calls_[i].value("bilinear", false) ? 1.0 : 0.0;  // weighted means may round either way
    for (const std::string name : {"bytes", "gray"}) {
      const auto expected = tensors_.find(std::to_string(i) + "." + name);
      if (expected == tensors_.end()) continue;
      EXPECT_LE(largest_difference(applied<uint8_t>(operation, tensors_.at(name)), expected->second), allowed)
          << name << " " << calls_[i];
    }
  }
}

TEST_F(TorchvisionCalls, GiveTheSameFloatsWithinAMillionth) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    const torch::Tensor output = applied<float>(operation_of(calls_[i]), tensors_.at("floats"));
    EXPECT_LE(largest_difference(output, tensors_.at(std::to_string(i) + ".floats")), 1e-6) << calls_[i];
  }
}

TEST(Sharpness, LeavesImagesWithoutAnInsideAlone) {
  const torch::Tensor thin = torch::arange(18).to(torch::kUInt8).view({3, 2, 3});
  EXPECT_TRUE(applied<uint8_t>(Sharpness{3.0}, thin).equal(thin));
}

// --- Draws ---

ImageTransformsConfig enabled(OrderedMap<ImageTransformConfig> tfs, int64_t max_num_transforms) {
  ImageTransformsConfig config;
  config.enable = true;
  config.tfs = std::move(tfs);
  config.max_num_transforms = max_num_transforms;
  return config;
}

// Transforms a, b, c that are told apart by what they draw: a factor of exactly 1, 2 or 3.
ImageTransformsConfig marked(const std::vector<double>& weights, int64_t max_num_transforms) {
  OrderedMap<ImageTransformConfig> tfs;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double mark = static_cast<double>(i) + 1.0;
    tfs.set(std::string(1, static_cast<char>('a' + i)), {weights[i], "SharpnessJitter", {{"sharpness", {mark, mark}}}});
  }
  return enabled(std::move(tfs), max_num_transforms);
}

std::string marks(const std::vector<ImageOperation>& operations) {
  std::string marks;
  for (const ImageOperation& operation : operations)
    marks += static_cast<char>('a' + std::lround(std::get<Sharpness>(operation).factor) - 1);
  return marks;
}

// How often each outcome comes in many draws, as a part of all.
std::map<std::string, double> outcomes(const ImageTransformsConfig& config) {
  constexpr int64_t kDraws = 20000;
  const ImageTransforms transforms(config, 1000);
  std::map<std::string, double> parts;
  for (int64_t row = 0; row < kDraws; ++row) parts[marks(transforms.draw({0, row, "cam"}, 8, 8))] += 1.0 / kDraws;
  return parts;
}

TEST(ImageTransformsDraw, FavoursHeavierTransforms) {
  const auto parts = outcomes(marked({1.0, 2.0, 5.0}, 1));
  EXPECT_EQ(parts.size(), 3U);
  EXPECT_NEAR(parts.at("a"), 1.0 / 8, 0.015);
  EXPECT_NEAR(parts.at("b"), 2.0 / 8, 0.015);
  EXPECT_NEAR(parts.at("c"), 5.0 / 8, 0.015);
}

TEST(ImageTransformsDraw, TakesNoTransformTwiceAndKeepsTheConfiguredOrder) {
  const auto parts = outcomes(marked({1.0, 2.0, 5.0}, 2));
  EXPECT_EQ(parts.size(), 3U);
  EXPECT_NEAR(parts.at("ab"), 1.0 / 8 * 2 / 7 + 2.0 / 8 * 1 / 6, 0.015);
  EXPECT_NEAR(parts.at("ac"), 1.0 / 8 * 5 / 7 + 5.0 / 8 * 1 / 3, 0.015);
  EXPECT_NEAR(parts.at("bc"), 2.0 / 8 * 5 / 6 + 5.0 / 8 * 2 / 3, 0.015);
}

TEST(ImageTransformsDraw, AppliesInTheOrderDrawnWhenTheOrderIsRandom) {
  auto config = marked({1.0, 2.0, 5.0}, 2);
  config.random_order = true;
  const auto parts = outcomes(config);
  EXPECT_EQ(parts.size(), 6U);
  EXPECT_NEAR(parts.at("ab"), 1.0 / 8 * 2 / 7, 0.015);
  EXPECT_NEAR(parts.at("ba"), 2.0 / 8 * 1 / 6, 0.015);
  EXPECT_NEAR(parts.at("ca"), 5.0 / 8 * 1 / 3, 0.015);
  EXPECT_NEAR(parts.at("cb"), 5.0 / 8 * 2 / 3, 0.015);
}

TEST(ImageTransformsDraw, TakesAllWhenThereAreNoMoreThanAsked) {
  EXPECT_EQ(outcomes(marked({1.0, 0.001, 1.0}, 7)).count("abc"), 1U);
}

TEST(ImageTransformsDraw, NeverTakesTransformsWithoutWeight) {
  const auto parts = outcomes(marked({1.0, 0.0, -2.0}, 3));
  EXPECT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.count("a"), 1U);
}

TEST(ImageTransformsDraw, TakesNoneWhenNoneIsAskedForOrEnabled) {
  EXPECT_EQ(outcomes(marked({1.0, 1.0}, 0)).count(""), 1U);
  EXPECT_EQ(outcomes(enabled({}, 3)).count(""), 1U);
  auto off = marked({1.0}, 1);
  off.enable = false;
  EXPECT_EQ(outcomes(off).count(""), 1U);
}

// Least, greatest and mean of what is drawn.
struct Spread {
  void add(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
    sum += value;
    ++count;
  }
  double mean() const { return sum / count; }
  double least = INFINITY;
  double greatest = -INFINITY;
  double sum = 0.0;
  int count = 0;
};

// Within the range and nearly all of it, evenly about its middle.
void expect_uniform(const Spread& spread, double from, double to) {
  const double width = to - from;
  EXPECT_GE(spread.least, from);
  EXPECT_LE(spread.greatest, to);
  EXPECT_LT(spread.least, from + 0.01 * width);
  EXPECT_GT(spread.greatest, to - 0.01 * width);
  EXPECT_NEAR(spread.mean(), (from + to) / 2, 0.02 * width);
}

TEST(ImageTransformsDraw, FillsTheRangesOfTheDefaultTransforms) {
  ImageTransformsConfig config;
  config.enable = true;
  config.max_num_transforms = 6;
  const ImageTransforms transforms(config, 7);
  std::map<std::string, Spread> spread;
  for (int64_t row = 0; row < 4000; ++row) {
    const auto drawn = transforms.draw({2, row, "cam"}, 100, 200);
    ASSERT_EQ(drawn.size(), 6U);
    spread["brightness"].add(std::get<Brightness>(drawn[0]).factor);
    spread["contrast"].add(std::get<Contrast>(drawn[1]).factor);
    spread["saturation"].add(std::get<Saturation>(drawn[2]).factor);
    spread["hue"].add(std::get<Hue>(drawn[3]).turns);
    spread["sharpness"].add(std::get<Sharpness>(drawn[4]).factor);
    const auto& affine = std::get<Affine>(drawn[5]);
    spread["degrees"].add(affine.degrees);
    spread["x"].add(affine.translate_x);
    spread["y"].add(affine.translate_y);
    EXPECT_EQ(affine.translate_x, std::nearbyint(affine.translate_x));
    EXPECT_EQ(affine.scale, 1.0);
    EXPECT_EQ(affine.shear_x, 0.0);
  }
  expect_uniform(spread["brightness"], 0.8, 1.2);
  expect_uniform(spread["contrast"], 0.8, 1.2);
  expect_uniform(spread["saturation"], 0.5, 1.5);
  expect_uniform(spread["hue"], -0.05, 0.05);
  expect_uniform(spread["sharpness"], 0.5, 1.5);
  expect_uniform(spread["degrees"], -5.0, 5.0);
  expect_uniform(spread["x"], -10.0, 10.0);  // 5 % of the width
  expect_uniform(spread["y"], -5.0, 5.0);
}

TEST(ImageTransformsDraw, DrawsScaleAndBothShears) {
  const ImageTransforms transforms(
      enabled({{"affine", {1.0, "RandomAffine", {{"degrees", 0}, {"scale", {0.5, 2.0}}, {"shear", {1, 2, -8, -4}}}}}},
              1),
      7);
  std::map<std::string, Spread> spread;
  for (int64_t row = 0; row < 4000; ++row) {
    const auto affine = std::get<Affine>(transforms.draw({0, row, "cam"}, 10, 10).at(0));
    EXPECT_EQ(affine.degrees, 0.0);
    spread["scale"].add(affine.scale);
    spread["x"].add(affine.shear_x);
    spread["y"].add(affine.shear_y);
  }
  expect_uniform(spread["scale"], 0.5, 2.0);
  expect_uniform(spread["x"], 1.0, 2.0);
  expect_uniform(spread["y"], -8.0, -4.0);
}

TEST(ImageTransformsDraw, ShufflesTheChangesOfOneColorJitter) {
  const ImageTransforms transforms(
      enabled({{"all", {1.0, "ColorJitter", {{"brightness", 0.1}, {"contrast", 0.1}, {"hue", 0.1}}}}}, 1), 7);
  std::map<std::string, int> orders;
  for (int64_t row = 0; row < 6000; ++row) {
    std::string order;
    for (const ImageOperation& operation : transforms.draw({0, row, "cam"}, 8, 8))
      order += std::to_string(operation.index());
    ++orders[order];
  }
  EXPECT_EQ(orders.size(), 6U);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 1000, 120) << order;
}

TEST(ImageTransformsDraw, DependsOnSeedEpochRowAndCameraAndOnNothingElse) {
  const auto config = enabled({{"a", {1.0, "SharpnessJitter", {{"sharpness", 1.0}}}}}, 1);
  const auto factor = [&](uint64_t seed, int64_t epoch, int64_t row, std::string_view camera) {
    return std::get<Sharpness>(ImageTransforms(config, seed).draw({epoch, row, camera}, 8, 8).at(0)).factor;
  };
  torch::manual_seed(1);
  const double first = factor(3, 5, 7, "cam");
  torch::manual_seed(2);
  EXPECT_EQ(factor(3, 5, 7, "cam"), first);
  // Second number of Philox4x32-10 with the key that numpy's SeedSequence makes of [3, 5, 7, FNV-1a of "cam"], computed
  // in Python. Another one would change what a resumed run sees.
  EXPECT_DOUBLE_EQ(first, 1.1229161638766527);
  std::set<double> others = {first};
  others.insert({factor(4, 5, 7, "cam"), factor(3, 6, 7, "cam"), factor(3, 5, 8, "cam"), factor(3, 5, 7, "Cam")});
  EXPECT_EQ(others.size(), 5U);
}

TEST(ImageTransformsApply, ChangesAllFramesOfAWindowAlike) {
  ImageTransformsConfig config;
  config.enable = true;
  config.max_num_transforms = 6;
  const ImageTransforms transforms(config, 7);
  const torch::Tensor window = torch::randint(256, {2, 3, 20, 30}, torch::kUInt8);
  const DrawKey key{1, 2, "cam"};
  const auto apply_to = [&](const torch::Tensor& frames, int64_t count) {
    transforms.apply({frames.data_ptr<uint8_t>(), static_cast<size_t>(frames.numel())}, {count, 3, 20, 30}, key);
  };
  const torch::Tensor together = window.clone();
  apply_to(together, 2);
  EXPECT_FALSE(together.equal(window));
  for (int64_t t = 0; t < 2; ++t) {
    const torch::Tensor frame = window[t].clone();
    apply_to(frame, 1);
    EXPECT_TRUE(frame.equal(together[t]));
  }
}

TEST(ImageTransformsCheck, RefusesCamerasWithChannelsItCannotChange) {
  ImageTransformsConfig config;
  config.enable = true;
  const ImageTransforms colors(config, 7);
  colors.check_camera("cam", 3);
  colors.check_camera("cam", 1);
  EXPECT_THAT([&] { colors.check_camera("cam", 4); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("`cam`"), HasSubstr("4 channels"),
                                              HasSubstr("--dataset.image_transforms.enable=false"))));
  const ImageTransforms affine(enabled({{"affine", {1.0, "RandomAffine", {{"degrees", 5}, {"fill", {1, 2, 3}}}}}}, 1),
                               7);
  affine.check_camera("cam", 3);
  EXPECT_THAT([&] { affine.check_camera("cam", 4); }, ThrowsMessage<UsageError>(HasSubstr("3 numbers")));
}

TEST(ImageTransformsCheck, RefusesAnInvalidConfigurationByItsFlag) {
  EXPECT_THAT(
      [] {
        ImageTransforms(enabled({{"x", {1.0, "Nope", Json::object()}}}, 1), 7);
      },
      ThrowsMessage<UsageError>(HasSubstr("--dataset.image_transforms.tfs: `x`: type 'Nope'")));
}

// --- In the dataset ---

constexpr auto kVideo = "observation.images.cam";
constexpr auto kImages = "observation.images.wrist";

std::shared_ptr<const ImageTransforms> all_six(uint64_t seed = 7) {
  ImageTransformsConfig config;
  config.enable = true;
  config.max_num_transforms = 6;
  return std::make_shared<const ImageTransforms>(config, seed);
}

LeRobotDataset open(std::shared_ptr<const ImageTransforms> transforms, const std::string& depth_camera = "") {
  Metadata metadata = load_metadata(kData / "datasets/sample_dataset_b", "sample/b");
  for (FeatureSpec& feature : metadata.info.features) feature.is_depth = feature.name == depth_camera;
  DatasetOptions options;
  options.episodes = choose_episodes(metadata, std::nullopt);
  options.delta_indices = {{kVideo, {-1, 0}}};
  options.image_transforms = std::move(transforms);
  return {std::make_shared<const Metadata>(std::move(metadata)), std::move(options)};
}

TEST(TransformedDataset, ChangesEachSampleOfEachCameraByItsOwnDrawAndNothingElse) {
  const std::vector<int64_t> rows = {40, 3};
  const auto transforms = all_six();
  const Batch plain = open(nullptr).get(rows, 2);
  const Batch batch = open(transforms).get(rows, 2);
  ASSERT_EQ(batch.tensors.size(), plain.tensors.size());
  for (const auto& [key, tensor] : plain.tensors) {
    const bool is_camera = key == kVideo || key == kImages;
    EXPECT_EQ(batch.at(key).equal(tensor), !is_camera) << key;
  }
  for (size_t sample = 0; sample < rows.size(); ++sample) {
    const auto index = static_cast<int64_t>(sample);
    const torch::Tensor video = plain.at(kVideo)[index].clone();
    transforms->apply(std::span(video.data_ptr<uint8_t>(), video.numel()), {2, 3, 96, 96}, {2, rows[sample], kVideo});
    EXPECT_TRUE(batch.at(kVideo)[index].equal(video));
    const torch::Tensor image = plain.at(kImages)[index].clone();
    transforms->apply(std::span(image.data_ptr<float>(), image.numel()), {1, 3, 96, 96}, {2, rows[sample], kImages});
    EXPECT_TRUE(batch.at(kImages)[index].equal(image));
  }
}

TEST(TransformedDataset, LeavesDepthCamerasAlone) {
  const std::vector<int64_t> rows = {40, 3};
  const Batch plain = open(nullptr, kImages).get(rows);
  const Batch batch = open(all_six(), kImages).get(rows);
  EXPECT_TRUE(batch.at(kImages).equal(plain.at(kImages)));
  EXPECT_FALSE(batch.at(kVideo).equal(plain.at(kVideo)));
}

TEST(TransformedDataset, GivesTheSamePicturesWhateverTheNumberOfWorkersAndWhereverARunStarts) {
  const LeRobotDataset dataset = open(all_six());
  const EpisodeAwareSampler sampler(dataset.episodes(), {.seed = 1000});
  const auto assemble = [&](const BatchPlan& plan) { return dataset.get(plan.rows, plan.epoch); };
  const BatchLayout layout{.batch_size = 20};
  DataLoader alone(BatchCursor(sampler, layout), assemble, {.num_workers = 0});
  DataLoader threaded(BatchCursor(sampler, layout), assemble, {.num_workers = 3});
  DataLoader resumed(BatchCursor(sampler, layout, position_after(6, sampler.size(), layout)), assemble,
                     {.num_workers = 2});
  for (int step = 0; step < 8; ++step) {  // five batches an epoch
    const Batch expected = alone.next();
    const Batch batch = threaded.next();
    for (const auto key : {kVideo, kImages}) EXPECT_TRUE(batch.at(key).equal(expected.at(key))) << step << " " << key;
    if (step < 6) continue;
    const Batch again = resumed.next();
    for (const auto key : {kVideo, kImages}) EXPECT_TRUE(again.at(key).equal(expected.at(key))) << step << " " << key;
  }
}

TEST(TransformedDataset, ShowsAnotherPictureInAnotherEpoch) {
  const LeRobotDataset dataset = open(all_six());
  const std::vector<int64_t> rows = {11};
  EXPECT_FALSE(dataset.get(rows, 0).at(kVideo).equal(dataset.get(rows, 1).at(kVideo)));
}

}  // namespace
}  // namespace lerobot::dataset
