#include "lerobot/train/policy_features.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lerobot/core/error.hpp"
#include "lerobot/policy/act/act_config.hpp"

namespace lerobot::train {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace lerobot::train
