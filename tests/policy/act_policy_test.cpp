// What the golden cases do not reach: cameras of different sizes, mixed precision, features of shape [1], groups.
#include "lerobot/policy/act/act_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "lerobot/core/error.hpp"
#include "lerobot/precision/autocast.hpp"
#include "policy/golden_case.hpp"

namespace lerobot::policy {
namespace {

using testing::HasSubstr;

ACTConfig small_config() {
  ACTConfig config;
  config.chunk_size = config.n_action_steps = 4;
  config.dim_model = 16;
  config.n_heads = 2;
  config.dim_feedforward = 16;
  config.n_encoder_layers = config.n_vae_encoder_layers = 1;
  config.latent_dim = 4;
  config.dropout = 0;
  config.pretrained_backbone_weights.reset();
  config.input_features = FeatureMap{{"observation.environment_state", {FeatureType::kEnv, {3}}}};
  config.output_features = FeatureMap{{"action", {FeatureType::kAction, {2}}}};
  return config;
}

Batch small_batch(const ACTConfig& config, int64_t n = 2) {
  Batch batch;
  for (const auto& [name, feature] : *config.input_features) {
    std::vector<int64_t> shape = feature.shape;
    shape.insert(shape.begin(), n);
    batch.tensors[name] = torch::rand(shape);
  }
  batch.tensors["action"] = torch::randn({n, config.chunk_size, config.action_dim()});
  batch.tensors["action_is_pad"] = torch::zeros({n, config.chunk_size}, torch::kBool);
  return batch;
}

class ACTPolicyTest : public testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(12); }
};

TEST_F(ACTPolicyTest, TakesCamerasOfDifferentSizes) {
  ACTConfig config = small_config();
  config.input_features = FeatureMap{{"observation.images.wide", {FeatureType::kVisual, {3, 64, 128}}},
                                     {"observation.images.wrist", {FeatureType::kVisual, {3, 64, 64}}}};
  ACTPolicy policy(config);
  policy.train();
  const TrainingOutput output = policy.training_forward(small_batch(config));
  output.loss.backward();
  EXPECT_TRUE(output.loss.isfinite().item<bool>());
  EXPECT_EQ(policy.predict_action_chunk(small_batch(config, 3)).sizes(), (std::vector<int64_t>{3, 4, 2}));
}

TEST_F(ACTPolicyTest, PutsTheBackboneInAGroupWithItsOwnRate) {
  ACTConfig config = small_config();
  config.optimizer_lr_backbone = 5e-6;
  config.input_features->set("observation.image", {FeatureType::kVisual, {3, 64, 64}});
  const auto groups = ACTPolicy(config).parameter_groups();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].lr, std::nullopt);
  EXPECT_EQ(groups[1].lr, 5e-6);
  EXPECT_EQ(groups[1].names.size(), 20U);  // resnet18's convolutions; the frozen norms are not trained
  EXPECT_EQ(groups[1].names.front(), "model.backbone.conv1.weight");
  for (const auto& name : groups[0].names) EXPECT_THAT(name, testing::Not(HasSubstr("backbone")));
}

TEST_F(ACTPolicyTest, HasAnEmptyBackboneGroupWithoutCameras) {
  const auto groups = ACTPolicy(small_config()).parameter_groups();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_TRUE(groups[1].parameters.empty());
}

TEST_F(ACTPolicyTest, TrainsUnderAutocastCloseToFloat32) {
  ACTConfig config = small_config();
  config.input_features->set("observation.image", {FeatureType::kVisual, {3, 64, 64}});
  config.input_features->set("observation.state", {FeatureType::kState, {5}});
  ACTPolicy policy(config);
  policy.train();
  const Batch batch = small_batch(config);
  const auto eps = torch::randn({2, config.latent_dim});
  const auto exact = policy.training_forward(batch, eps);
  TrainingOutput rounded;
  {
    const precision::AutocastScope autocast(c10::kCPU, torch::kBFloat16);
    rounded = policy.training_forward(batch, eps);
  }
  EXPECT_EQ(rounded.loss.scalar_type(), torch::kFloat32);
  EXPECT_NEAR(rounded.loss.item<double>(), exact.loss.item<double>(), 0.03 * exact.loss.item<double>());
  rounded.loss.backward();
  for (const auto& parameter : policy.named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_EQ(parameter.value().grad().scalar_type(), torch::kFloat32) << parameter.key();
  }
}

TEST_F(ACTPolicyTest, TakesFeaturesOfShapeOneWithoutTheirDimension) {
  ACTConfig config = small_config();
  config.input_features->set("observation.state", {FeatureType::kState, {1}});
  config.output_features = FeatureMap{{"action", {FeatureType::kAction, {1}}}};
  ACTPolicy policy(config);
  policy.train();
  Batch batch = small_batch(config);
  const auto eps = torch::randn({2, config.latent_dim});
  const auto loss = policy.training_forward(batch, eps).loss;
  for (const char* key : {"observation.state", "action"}) batch.tensors[key] = batch.at(key).squeeze(-1);
  EXPECT_TRUE(torch::equal(policy.training_forward(batch, eps).loss, loss));
}

TEST_F(ACTPolicyTest, IgnoresPaddedActions) {
  const ACTConfig config = small_config();
  ACTPolicy policy(config);
  policy.train();
  Batch batch = small_batch(config);
  batch.tensors["action_is_pad"].slice(1, 2).fill_(true);
  const auto eps = torch::randn({2, config.latent_dim});
  const auto loss = policy.training_forward(batch, eps).loss;
  batch.tensors["action"].slice(1, 2).fill_(1e3);
  EXPECT_TRUE(torch::allclose(policy.training_forward(batch, eps).loss, loss, 1e-6));
}

TEST_F(ACTPolicyTest, DropsActivationsInTrainingOnly) {
  ACTConfig config = small_config();
  config.dropout = 0.5;
  ACTPolicy policy(config);
  const Batch batch = small_batch(config);
  const auto eps = torch::zeros({2, config.latent_dim});
  policy.train();
  EXPECT_FALSE(torch::equal(policy.training_forward(batch, eps).loss, policy.training_forward(batch, eps).loss));
  EXPECT_TRUE(torch::equal(policy.predict_action_chunk(batch), policy.predict_action_chunk(batch)));
}

TEST_F(ACTPolicyTest, SwitchesToEvaluationToSelectAnAction) {
  ACTPolicy policy(small_config());
  policy.train();
  const auto action = policy.select_action(small_batch(policy.config()));
  EXPECT_FALSE(policy.is_training());
  EXPECT_FALSE(action.requires_grad());
}

TEST_F(ACTPolicyTest, NamesAFeatureThatTheBatchLacks) {
  ACTPolicy policy(small_config());
  try {
    policy.predict_action_chunk({});
    FAIL();
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("observation.environment_state"));
  }
}

TEST_F(ACTPolicyTest, RefusesFeaturesItCannotUse) {
  ACTConfig config = small_config();
  config.input_features = FeatureMap{};
  EXPECT_THROW(ACTPolicy{config}, UsageError);
}

}  // namespace
}  // namespace lerobot::policy
