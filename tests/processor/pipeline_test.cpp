#include "lerobot/processor/pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lerobot/core/error.hpp"
#include "processor/sample.hpp"
#include "support/torch.hpp"

namespace lerobot::processor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> keys_of(const Batch& batch) {
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : batch.tensors) keys.push_back(key);
  return keys;
}

TEST(PolicyProcessors, PreprocessNormalisesWhatLeRobotNormalises) {
  PolicyProcessors processors(sample::config(), sample::stats());
  const TensorMap golden = load_safetensors(sample::kFolder / "mean_std.safetensors");
  const Batch result = processors.preprocess({.tensors = sample::batch(), .task = {}});
  ASSERT_EQ(result.tensors.size(), 4U);
  for (const auto& [key, tensor] : result.tensors) {
    EXPECT_TRUE(torch::allclose(tensor, golden.at("normalized." + key), 1e-6, 1e-6)) << key;
  }
}

TEST(PolicyProcessors, PostprocessUnnormalisesTheAction) {
  PolicyProcessors processors(sample::config(NormalizationMode::kMinMax), sample::stats());
  const TensorMap golden = load_safetensors(sample::kFolder / "min_max.safetensors");
  EXPECT_TRUE(torch::allclose(processors.postprocess(sample::batch().at("action")), golden.at("unnormalized.action"),
                              1e-6, 1e-6));
}

TEST(PolicyProcessors, KeepsWhatThePolicySeesAndDropsTheRest) {
  PolicyProcessors processors(sample::config(), sample::stats());
  Batch batch;
  for (const auto* key :
       {"action", "action_is_pad", "episode_index", "frame_index", "image", "index", "next.reward", "observation.other",
        "observation.state", "observation.state_is_pad", "task_index", "timestamp"}) {
    batch.tensors[key] = torch::zeros({2, 1});
  }
  batch.tensors["action"] = torch::zeros({2, 3, 2});
  batch.tensors["observation.state"] = torch::zeros({2, 6});
  batch.task = {"push", "pull"};
  const Batch result = processors.preprocess(batch);
  EXPECT_THAT(keys_of(result), ElementsAre("action", "action_is_pad", "episode_index", "index", "observation.other",
                                           "observation.state", "observation.state_is_pad", "task_index", "timestamp"));
  EXPECT_THAT(result.task, ElementsAre("push", "pull"));
}

TEST(PolicyProcessors, LeavesABatchThatWasNotHandedOverAsItWas) {
  PolicyProcessors processors(sample::config(), sample::stats());
  const Batch batch{.tensors = sample::batch(), .task = {}};
  processors.preprocess(batch);
  for (const auto& [key, tensor] : sample::batch()) EXPECT_TRUE(batch.at(key).equal(tensor)) << key;
}

TEST(PolicyProcessors, TurnsBytesOfACameraIntoFractionsBeforeNormalising) {
  PolicyProcessors processors(sample::config(), sample::stats());
  const torch::Tensor bytes = torch::randint(0, 256, {2, 3, 4, 5}, torch::kUInt8);
  const auto run = [&](const torch::Tensor& image) {
    return processors.preprocess({.tensors = {{"observation.images.front", image}}, .task = {}})
        .at("observation.images.front");
  };
  EXPECT_TRUE(run(bytes).equal(run(bytes.to(torch::kFloat32) / 255)));
}

// A feature of shape [1] leaves the dataset without its last dimension.
TEST(PolicyProcessors, GivesASingleJointItsDimensionBack) {
  ProcessorConfig config;
  config.input_features = {{"observation.state", {FeatureType::kState, {1}}}};
  config.output_features = {{"action", {FeatureType::kAction, {1}}}};
  PolicyProcessors processors(config, {});
  const auto sizes = [&](TensorMap tensors, const std::string& key) {
    return processors.preprocess({.tensors = std::move(tensors), .task = {}}).at(key).sizes().vec();
  };
  const auto pad = torch::zeros({8, 1}, torch::kBool);
  EXPECT_THAT(sizes({{"observation.state", torch::zeros({8})}}, "observation.state"), ElementsAre(8, 1));
  EXPECT_THAT(sizes({{"action", torch::zeros({8, 1})}, {"action_is_pad", pad}}, "action"), ElementsAre(8, 1, 1));
  EXPECT_THAT(sizes({{"observation.state", torch::zeros({8, 1})}}, "observation.state"), ElementsAre(8, 1));
}

TEST(PolicyProcessors, RenamesKeysTheirPadsAndTheirStatistics) {
  ProcessorConfig config = sample::config();
  config.rename_map = {{"observation.joints", "observation.state"}, {"actions", "action"}};
  FeatureStats stats = sample::stats();
  stats["observation.joints"] = std::exchange(stats["observation.state"], {});
  stats["actions"] = std::exchange(stats["action"], {});
  stats.erase("observation.state");
  stats.erase("action");
  TensorMap tensors = sample::batch();
  tensors["observation.joints"] = std::exchange(tensors["observation.state"], {});
  tensors["actions"] = std::exchange(tensors["action"], {});
  tensors.erase("observation.state");
  tensors.erase("action");
  tensors["observation.joints_is_pad"] = torch::zeros({4, 2}, torch::kBool);
  tensors["observation.joints_padding_mask"] = torch::zeros({4, 2}, torch::kBool);

  const Batch result = PolicyProcessors(config, stats).preprocess({.tensors = tensors, .task = {}});
  const TensorMap golden = load_safetensors(sample::kFolder / "mean_std.safetensors");
  for (const auto* key : {"observation.state", "action"}) {
    EXPECT_TRUE(torch::allclose(result.at(key), golden.at(std::string("normalized.") + key), 1e-6, 1e-6)) << key;
  }
  EXPECT_TRUE(result.contains("observation.state_is_pad"));
  EXPECT_TRUE(result.contains("observation.state_padding_mask"));
  EXPECT_FALSE(result.contains("observation.joints"));
}

TEST(PolicyProcessors, RefusesARenameOntoAFeatureThatIsThere) {
  const FeatureStats stats = sample::stats();
  try {
    rename_stats(stats, {{"timestamp", "action"}});
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--rename_map"));
    EXPECT_THAT(error.what(), HasSubstr("`action`"));
  }
}

TEST(PolicyProcessors, CastsFloatsAndNothingElseWhenTheDeviceStepSaysSo) {
  ProcessorConfig config = sample::config(NormalizationMode::kIdentity);
  config.float_dtype = "bfloat16";
  const Batch result =
      PolicyProcessors(config, sample::stats())
          .preprocess(
              {.tensors = {{"action", torch::ones({2, 2})}, {"index", torch::ones({2}, torch::kInt64)}}, .task = {}});
  EXPECT_EQ(result.at("action").scalar_type(), torch::kBFloat16);
  EXPECT_EQ(result.at("index").scalar_type(), torch::kInt64);
}

}  // namespace
}  // namespace lerobot::processor
