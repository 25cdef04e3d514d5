// A small ACT with random weights on native PushT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lerobot/core/error.hpp"
#include "lerobot/env/pusht.hpp"
#include "lerobot/eval/actor.hpp"
#include "lerobot/eval/evaluate.hpp"
#include "lerobot/eval/evaluation_scope.hpp"
#include "lerobot/eval/observation_batch.hpp"
#include "lerobot/eval/rollout.hpp"
#include "lerobot/policy/act/act_policy.hpp"
#include "support/torch.hpp"

namespace lerobot::eval {
namespace {

using testing::AllOf;
using testing::HasSubstr;

policy::ACTConfig small_config() {
  policy::ACTConfig config;
  config.chunk_size = config.n_action_steps = 4;
  config.dim_model = 16;
  config.n_heads = 2;
  config.dim_feedforward = 16;
  config.n_encoder_layers = config.n_vae_encoder_layers = 1;
  config.latent_dim = 4;
  config.pretrained_backbone_weights.reset();
  config.normalization_mapping = {{"STATE", NormalizationMode::kMeanStd},
                                  {"ENV", NormalizationMode::kMeanStd},
                                  {"ACTION", NormalizationMode::kMeanStd}};
  config.input_features = FeatureMap{{"observation.state", {FeatureType::kState, {2}}},
                                     {"observation.environment_state", {FeatureType::kEnv, {16}}}};
  config.output_features = FeatureMap{{"action", {FeatureType::kAction, {2}}}};
  return config;
}

processor::PolicyProcessors small_processors(const policy::ACTConfig& config, processor::RenameMap rename_map = {}) {
  FeatureStats stats;
  const auto add = [&](const std::string& key, const PolicyFeature& feature) {
    stats[key] = {{"mean", torch::full(feature.shape, 256.0)}, {"std", torch::full(feature.shape, 100.0)}};
  };
  for (const auto& [key, feature] : *config.input_features) add(key, feature);
  for (const auto& [key, feature] : *config.output_features) add(key, feature);
  processor::ProcessorConfig pipeline = processor::processor_config(config, torch::kCPU);
  pipeline.rename_map = std::move(rename_map);
  return {pipeline, stats};
}

std::shared_ptr<env::VectorEnv> small_pusht(int64_t count) {
  std::vector<std::unique_ptr<env::Environment>> environments;
  for (int64_t i = 0; i < count; ++i) {
    environments.push_back(std::make_unique<env::PushT>(
        env::PushTOptions{.obs_type = env::PushTObsType::kEnvironmentStateAgentPos, .max_episode_steps = 20}));
  }
  return std::make_shared<env::VectorEnv>(std::move(environments));
}

class PolicyActorTest : public testing::Test {
 protected:
  std::string usage_error_of(const Batch& observations) {
    PolicyActor actor(policy, processors, torch::kCPU);
    try {
      actor.act(observations, "gym_pusht/PushT-v0");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }

  policy::ACTPolicy policy = [] {
    torch::manual_seed(3);
    return policy::ACTPolicy(small_config());
  }();
  processor::PolicyProcessors processors = small_processors(small_config());
  Batch observations = [] {
    Batch batch;
    batch.tensors["observation.state"] = torch::full({3, 2}, 200.0);
    batch.tensors["observation.environment_state"] = torch::full({3, 16}, 300.0);
    batch.task = {"", "", ""};
    return batch;
  }();
};

TEST_F(PolicyActorTest, ActsInTheEnvironmentsUnitsWithoutGradients) {
  PolicyActor actor(policy, processors, torch::kCPU);
  const torch::Tensor action = actor.act(observations, "env");
  EXPECT_EQ(action.sizes(), (std::vector<int64_t>{3, 2}));
  EXPECT_FALSE(action.requires_grad());
  const Batch inputs = processors.preprocess(observations);
  policy.reset();
  EXPECT_TRUE(torch::equal(action, processors.postprocess(policy.select_action(inputs))));
  EXPECT_GT(action.abs().max().item<float>(), 50.0F);  // pixels, not the policy's normalised numbers
}

TEST_F(PolicyActorTest, RunsThePolicyUnderAutocastAndActsInFloat32) {
  PolicyActor exact(policy, processors, torch::kCPU);
  const torch::Tensor expected = exact.act(observations, "env");
  policy.reset();
  PolicyActor actor(policy, processors, torch::kCPU, precision::Precision::kBf16);
  const torch::Tensor action = actor.act(observations, "env");
  EXPECT_EQ(action.scalar_type(), torch::kFloat32);
  EXPECT_FALSE(torch::equal(action, expected));
  EXPECT_TRUE(torch::allclose(action, expected, 0.05, 5.0));
}

TEST_F(PolicyActorTest, NamesTheInputThatTheEnvironmentDoesNotGive) {
  observations.tensors.erase("observation.environment_state");
  observations.tensors["observation.image"] = torch::zeros({3, 3, 96, 96});
  EXPECT_THAT(usage_error_of(observations),
              AllOf(HasSubstr("reads `observation.environment_state`"), HasSubstr("gym_pusht/PushT-v0"),
                    HasSubstr("it gives observation.image, observation.state"), HasSubstr("--rename_map")));
}

TEST_F(PolicyActorTest, TakesARenamedInput) {
  processors = small_processors(small_config(), {{"observation.keypoints", "observation.environment_state"}});
  observations.tensors["observation.keypoints"] = observations.tensors["observation.environment_state"];
  observations.tensors.erase("observation.environment_state");
  EXPECT_EQ(usage_error_of(observations), "no error");
}

TEST_F(PolicyActorTest, RefusesAVectorOfAnotherSize) {
  observations.tensors["observation.state"] = torch::zeros({3, 14});
  EXPECT_THAT(usage_error_of(observations),
              AllOf(HasSubstr("`observation.state` of shape [2]"), HasSubstr("gives [14]")));
}

TEST_F(PolicyActorTest, PlaysPushTTheSameWayFromTheSameSeed) {
  const auto play = [&](uint64_t seed) {
    PolicyActor actor(policy, processors, torch::kCPU);
    std::vector<EvalTask> tasks{{"pusht", 0, [] { return small_pusht(2); }}};
    return evaluate(local_file_system(), tasks, actor, {.n_episodes = 5, .start_seed = seed, .show_progress = false});
  };
  const EvaluationScope scope(policy, torch::kCPU);
  const Json first = eval_info(play(7))["per_task"];
  EXPECT_EQ(first, eval_info(play(7))["per_task"]);
  EXPECT_EQ(first[0]["metrics"]["lengths"], Json(std::vector<int>(5, 20)));
  EXPECT_NE(first, eval_info(play(8))["per_task"]);
}

TEST_F(PolicyActorTest, LeavesNoTraceInATrainingRun) {
  policy.train();
  torch::manual_seed(11);
  const torch::Tensor expected = torch::rand({4});
  torch::manual_seed(11);
  {
    const EvaluationScope scope(policy, torch::kCPU);
    EXPECT_FALSE(policy.is_training());
    torch::rand({100});
    torch::manual_seed(5);
    PolicyActor actor(policy, processors, torch::kCPU);
    actor.act(observations, "env");  // leaves three of its four actions in the queue
  }
  EXPECT_TRUE(policy.is_training());
  EXPECT_TRUE(torch::equal(torch::rand({4}), expected));
  const torch::Tensor fresh = policy.select_action(processors.preprocess(observations));
  policy.reset();
  EXPECT_TRUE(torch::equal(fresh, policy.select_action(processors.preprocess(observations))));
}

TEST_F(PolicyActorTest, LeavesTheNormalizersConstantsFitForTraining) {
  PolicyActor actor(policy, processors, torch::kCPU);
  actor.act(observations, "env");
  const torch::Tensor weight = torch::ones({2}, torch::requires_grad());
  const Batch inputs = processors.preprocess(observations);
  (inputs.at("observation.state") * weight).sum().backward();
  EXPECT_TRUE(weight.grad().defined());
}

}  // namespace
}  // namespace lerobot::eval
