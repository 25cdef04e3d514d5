#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <functional>

#include "lerobot/core/error.hpp"
#include "lerobot/policy/registry.hpp"
#include "policy/golden_case.hpp"

namespace lerobot::policy {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class PolicyState : public testing::Test {
 protected:
  std::string refusal(const TensorMap& tensors) {
    try {
      load_state_dict(*policy_, tensors);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  GoldenCase golden_{"act_env"};
  std::shared_ptr<ACTPolicy> policy_ = golden_.make_policy();
};

TEST_F(PolicyState, ReturnsWhatWasLoaded) {
  const TensorMap weights = golden_.weights();
  const TensorMap state = state_dict(*policy_);
  ASSERT_EQ(state.size(), weights.size());
  for (const auto& [name, tensor] : weights) {
    EXPECT_TRUE(torch::equal(state.at(name), tensor)) << name;
    EXPECT_FALSE(state.at(name).requires_grad()) << name;
  }
}

TEST_F(PolicyState, ConvertsOtherFloatingPointTypes) {
  TensorMap weights = golden_.weights();
  auto& head = weights.at("model.action_head.weight");
  auto& bias = weights.at("model.action_head.bias");
  const auto exact = torch::randn_like(head).to(torch::kBFloat16);
  head = exact;
  bias = bias.to(torch::kFloat64);
  const LoadReport report = load_state_dict(*policy_, weights);
  EXPECT_THAT(report.converted, UnorderedElementsAre(Pair(torch::kBFloat16, 1), Pair(torch::kFloat64, 1)));
  const TensorMap state = state_dict(*policy_);
  EXPECT_EQ(state.at("model.action_head.weight").scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::equal(state.at("model.action_head.weight"), exact.to(torch::kFloat32)));
  EXPECT_TRUE(torch::equal(state.at("model.action_head.bias"), bias.to(torch::kFloat32)));
}

TEST_F(PolicyState, ReportsMissingAndUnexpectedNamesAndLoadsTheRest) {
  TensorMap weights = golden_.weights();
  weights.erase("model.action_head.bias");
  weights["model.other"] = torch::zeros({1});
  weights.at("model.action_head.weight").fill_(0.25);
  const LoadReport report = load_state_dict(*policy_, weights);
  EXPECT_THAT(report.missing, ElementsAre("model.action_head.bias"));
  EXPECT_THAT(report.unexpected, ElementsAre("model.other"));
  EXPECT_EQ(state_dict(*policy_).at("model.action_head.weight").min().item<float>(), 0.25F);
}

TEST_F(PolicyState, RefusesWrongShapesAllAtOnceAndChangesNothing) {
  TensorMap weights = golden_.weights();
  const auto before = state_dict(*policy_).at("model.vae_encoder_cls_embed.weight").clone();
  weights.at("model.vae_encoder_cls_embed.weight") = torch::zeros_like(before);
  weights.at("model.action_head.weight") = torch::zeros({7, 32});
  weights.at("model.action_head.bias") = torch::zeros({7});
  EXPECT_THAT(refusal(weights), AllOf(HasSubstr("model.action_head.weight"), HasSubstr("[7, 32]"), HasSubstr("[2, 32]"),
                                      HasSubstr("model.action_head.bias")));
  EXPECT_TRUE(torch::equal(state_dict(*policy_).at("model.vae_encoder_cls_embed.weight"), before));
}

// The weights of a policy that differs in one setting, and what is said about them.
TEST_F(PolicyState, NamesTheSettingThatExplainsWrongShapes) {
  const auto refusal_of = [&](const std::function<void(ACTConfig&)>& change) {
    ACTConfig config = golden_.config;
    change(config);
    return refusal(state_dict(ACTPolicy(std::move(config))));
  };
  EXPECT_THAT(refusal_of([](ACTConfig& config) { config.dim_model = 64; }),
              EndsWith("\nMost likely: --policy.dim_model is 32 in this run and 64 in the checkpoint"));
  EXPECT_THAT(refusal_of([](ACTConfig& config) { config.dim_feedforward = 48; }),
              EndsWith("\nMost likely: --policy.dim_feedforward is 64 in this run and 48 in the checkpoint"));
  EXPECT_THAT(refusal_of([](ACTConfig& config) { config.chunk_size = 20; }),
              HasSubstr("--policy.chunk_size is 8 in this run and 20 in the checkpoint"));
  EXPECT_THAT(refusal_of([](ACTConfig& config) {
                config.output_features->set("action", {FeatureType::kAction, {7}});
                config.input_features->set("observation.state", {FeatureType::kState, {9}});
              }),
              AllOf(HasSubstr("`action` has 2 values in this run and 7 in the checkpoint"),
                    HasSubstr("`observation.state` has 2 values in this run and 9 in the checkpoint")));
}

TEST_F(PolicyState, RefusesWeightsOfSomethingElse) {
  EXPECT_THAT(refusal({{"visual.encoder.weight", torch::zeros({1})}}),
              AllOf(HasSubstr("not the weights of the policy"), HasSubstr("visual.encoder.weight")));
}

TEST_F(PolicyState, SetsTheStatisticsOfAnOldLeRobotAside) {
  TensorMap weights = golden_.weights();
  const std::vector<std::string> old = {"normalize_inputs.buffer_observation_state.mean",
                                        "normalize_targets.buffer_action.std", "unnormalize_outputs.buffer_action.std"};
  for (const std::string& name : old) weights[name] = torch::zeros({2});
  const LoadReport report = load_state_dict(*policy_, weights);
  EXPECT_THAT(report.superseded, ElementsAreArray(old));
  EXPECT_THAT(report.unexpected, IsEmpty());
}

TEST_F(PolicyState, RefusesIntegersInPlaceOfWeights) {
  TensorMap weights = golden_.weights();
  weights.at("model.action_head.bias") = torch::zeros({2}, torch::kInt64);
  EXPECT_THAT(refusal(weights), AllOf(HasSubstr("model.action_head.bias"), HasSubstr("Long")));
}

TEST(PolicyStateOfAFrozenBackbone, DropsBatchCounters) {
  const GoldenCase golden("act_image");
  const auto policy = golden.make_policy();
  TensorMap weights = golden.weights();
  weights["model.backbone.bn1.num_batches_tracked"] = torch::tensor(3);
  weights["model.action_head.num_batches_tracked"] = torch::tensor(3);  // no norm there
  EXPECT_THAT(load_state_dict(*policy, weights).unexpected, ElementsAre("model.action_head.num_batches_tracked"));
}

TEST(PolicyRegistry, BuildsThePolicyOfAConfigsType) {
  const PolicyRegistry registry = register_policies();
  EXPECT_EQ(registry.at("act").make_config()->type(), "act");
  const GoldenCase golden("act_env");
  const auto policy = make_policy(registry, golden.config.clone());
  EXPECT_EQ(policy->config().type(), "act");
  EXPECT_TRUE(load_state_dict(*policy, golden.weights()).missing.empty());
}

TEST(PolicyRegistry, NamesTheTypesItHasWhenAskedForAnother) {
  const GoldenCase golden("act_env");
  try {
    make_policy(PolicyRegistry{}, golden.config.clone());
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--policy.type"), HasSubstr("act")));
  }
}

}  // namespace
}  // namespace lerobot::policy
