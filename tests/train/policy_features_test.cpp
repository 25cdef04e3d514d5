#include "lerobot/train/policy_features.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lerobot/core/error.hpp"
#include "lerobot/policy/act/act_config.hpp"

namespace lerobot::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

dataset::DatasetInfo info_with_camera() {
  dataset::DatasetInfo info;
  const auto add = [&](std::string name, std::string dtype, std::vector<int64_t> shape, Json names = nullptr) {
    dataset::FeatureSpec feature;
    feature.name = std::move(name);
    feature.dtype = std::move(dtype);
    feature.shape = std::move(shape);
    feature.names = std::move(names);
    info.features.push_back(std::move(feature));
  };
  add("observation.state", "float32", {6});
  add("observation.images.top", "video", {480, 640, 3}, {"height", "width", "channels"});
  add("action", "float32", {6});
  add("timestamp", "float32", {1});
  return info;
}

TEST(FitFeatures, TakesInputsAndOutputsFromTheDataset) {
  policy::ACTConfig config;
  fit_features(config, info_with_camera());
  EXPECT_EQ(*config.input_features, (FeatureMap{{"observation.state", {FeatureType::kState, {6}}},
                                                {"observation.images.top", {FeatureType::kVisual, {3, 480, 640}}}}));
  EXPECT_EQ(*config.output_features, (FeatureMap{{"action", {FeatureType::kAction, {6}}}}));
}

TEST(FitFeatures, KeepsInputsThatTheConfigurationNames) {
  policy::ACTConfig config;
  config.input_features = FeatureMap{{"observation.images.top", {FeatureType::kVisual, {3, 480, 640}}}};
  fit_features(config, info_with_camera());
  EXPECT_EQ(config.input_features->size(), 1u);
}

TEST(FitFeatures, NamesBothSidesWhenTheyDiffer) {
  policy::ACTConfig config;
  config.input_features = FeatureMap{{"observation.state", {FeatureType::kState, {14}}},
                                     {"observation.images.wrist", {FeatureType::kVisual, {3, 480, 640}}}};
  try {
    fit_features(config, info_with_camera());
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("observation.state is [14] in the policy and [6] in the dataset"));
    EXPECT_THAT(error.what(), HasSubstr("observation.images.wrist"));
    EXPECT_THAT(error.what(), HasSubstr("observation.images.top VISUAL [3, 480, 640]"));
  }
}

std::string refusal(PolicyConfig& config, const dataset::DatasetInfo& info, const processor::RenameMap& rename_map) {
  try {
    fit_features(config, info, rename_map);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

policy::ACTConfig trained_with_cam_high() {
  policy::ACTConfig config;
  config.pretrained_path = "somewhere";
  config.input_features = FeatureMap{{"observation.state", {FeatureType::kState, {6}}},
                                     {"observation.images.cam_high", {FeatureType::kVisual, {3, 480, 640}}}};
  return config;
}

TEST(FitFeatures, TakesTheDatasetsFeaturesUnderTheirNewNames) {
  policy::ACTConfig config = trained_with_cam_high();
  const processor::RenameMap map = {{"observation.images.top", "observation.images.cam_high"}};
  EXPECT_EQ(refusal(config, info_with_camera(), map), "");
  EXPECT_THAT(dataset_names(config, info_with_camera(), map),
              ElementsAre("observation.state", "observation.images.top", "action"));

  policy::ACTConfig fresh;
  EXPECT_EQ(refusal(fresh, info_with_camera(), map), "");
  EXPECT_TRUE(fresh.input_features->contains("observation.images.cam_high"));
  EXPECT_FALSE(fresh.input_features->contains("observation.images.top"));
}

TEST(FitFeatures, ProposesARenameForACameraOfAnotherName) {
  policy::ACTConfig config = trained_with_cam_high();
  EXPECT_THAT(refusal(config, info_with_camera(), {}),
              HasSubstr(R"(--rename_map='{"observation.images.top": "observation.images.cam_high"}')"));
  config.pretrained_path.reset();  // where the names are the user's own, it would be refused
  EXPECT_THAT(refusal(config, info_with_camera(), {}), Not(HasSubstr("--rename_map")));
}

TEST(FitFeatures, RefusesARenameOfWhatIsNotThereAndOntoWhatIs) {
  policy::ACTConfig config = trained_with_cam_high();
  EXPECT_THAT(refusal(config, info_with_camera(), {{"observation.images.tip", "x"}}),
              AllOf(StartsWith("--rename_map: `observation.images.tip`"), HasSubstr("which has observation.state, "),
                    HasSubstr("Did you mean `observation.images.top`?")));
  EXPECT_THAT(refusal(config, info_with_camera(), {{"timestamp", "action"}}),
              HasSubstr("gives 2 features of the dataset (action, timestamp) the name `action`"));
}

TEST(FitFeatures, SwapsNames) {
  dataset::DatasetInfo info = info_with_camera();
  info.features.push_back(info.features[1]);
  info.features.back().name = "observation.images.wrist";
  policy::ACTConfig config;
  EXPECT_EQ(refusal(config, info,
                    {{"observation.images.top", "observation.images.wrist"},
                     {"observation.images.wrist", "observation.images.top"}}),
            "");
  EXPECT_EQ(config.input_features->size(), 3u);
}

TEST(FitFeatures, TakesFramesOfAnotherSizeAsTheyAre) {
  policy::ACTConfig config;
  config.input_features = FeatureMap{{"observation.images.top", {FeatureType::kVisual, {3, 96, 96}}}};
  EXPECT_EQ(refusal(config, info_with_camera(), {}), "");
  config.input_features = FeatureMap{{"observation.images.top", {FeatureType::kVisual, {1, 480, 640}}}};
  EXPECT_THAT(refusal(config, info_with_camera(), {}), HasSubstr("is [1, 480, 640] in the policy"));
}

}  // namespace
}  // namespace lerobot::train
