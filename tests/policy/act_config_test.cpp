#include "lerobot/policy/act/act_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lerobot/config/problems.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "policy/golden_case.hpp"

namespace lerobot::policy {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

ACTConfig with_camera() {
  ACTConfig config;
  config.input_features = FeatureMap{{"observation.image", {FeatureType::kVisual, {3, 96, 96}}},
                                     {"observation.state", {FeatureType::kState, {2}}}};
  config.output_features = FeatureMap{{"action", {FeatureType::kAction, {2}}}};
  return config;
}

std::vector<std::string> problems_of(const std::function<void(ACTConfig&)>& change) {
  ACTConfig config = with_camera();
  change(config);
  config::Problems problems;
  config.validate(problems);
  config.validate_features(problems);
  return problems.lines();
}

TEST(ACTConfig, DefaultsAreValid) {
  EXPECT_THAT(problems_of([](ACTConfig&) {}), IsEmpty());
}

TEST(ACTConfig, WritesAndReadsLeRobotsFile) {
  for (const std::string name : {"act_env_prenorm", "act_image2"}) {
    Json golden = read_json(policies_data() / name / "config.json");
    ACTConfig config = read_act_config(golden);
    golden.erase("type");
    EXPECT_EQ(to_python_json(config::to_json(config)), to_python_json(golden));
  }
}

TEST(ACTConfig, TakesZeroAndOneForTheDilation) {
  Json json = read_json(policies_data() / "act_image" / "config.json");
  json["replace_final_stride_with_dilation"] = 1;
  EXPECT_TRUE(read_act_config(json).replace_final_stride_with_dilation);
}

struct Refusal {
  const char* name;
  std::function<void(ACTConfig&)> change;
  std::vector<std::string> says;
};

class ACTConfigRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(ACTConfigRefusal, NamesFieldValueAndWhatIsAccepted) {
  const auto lines = problems_of(GetParam().change);
  ASSERT_EQ(lines.size(), 1U);
  for (const std::string& words : GetParam().says) EXPECT_THAT(lines.front(), HasSubstr(words));
}

INSTANTIATE_TEST_SUITE_P(
    All, ACTConfigRefusal,
    testing::Values(
        Refusal{"Backbone",
                [](ACTConfig& c) {
                  c.vision_backbone = "resnet19";
                  c.pretrained_backbone_weights.reset();
                },
                {"vision_backbone", "`resnet19`", "resnet152", "Did you mean"}},
        Refusal{"WeightsOfAnotherDepth",
                [](ACTConfig& c) { c.vision_backbone = "resnet50"; },
                {"pretrained_backbone_weights", "ResNet18_Weights.IMAGENET1K_V1", "ResNet50_Weights.IMAGENET1K_V2"}},
        Refusal{"DilationOfABasicBlock",
                [](ACTConfig& c) { c.replace_final_stride_with_dilation = true; },
                {"replace_final_stride_with_dilation", "resnet18", "resnet50"}},
        Refusal{"EnsemblingOfSeveralSteps",
                [](ACTConfig& c) { c.temporal_ensemble_coeff = 0.01; },
                {"n_action_steps", "must be 1", "100"}},
        Refusal{"MoreStepsThanTheChunk", [](ACTConfig& c) { c.chunk_size = 8; }, {"n_action_steps", "8", "100"}},
        Refusal{"SeveralObservations", [](ACTConfig& c) { c.n_obs_steps = 2; }, {"n_obs_steps", "2"}},
        Refusal{"HeadsThatDoNotDivide", [](ACTConfig& c) { c.n_heads = 7; }, {"dim_model", "7", "512"}},
        Refusal{"WidthWithCameras",
                [](ACTConfig& c) {
                  c.dim_model = 6;
                  c.n_heads = 2;
                },
                {"dim_model", "multiple of 4", "6"}},
        Refusal{
            "Glu", [](ACTConfig& c) { c.feedforward_activation = "glu"; }, {"feedforward_activation", "glu", "relu"}},
        Refusal{"Activation",
                [](ACTConfig& c) { c.feedforward_activation = "silu"; },
                {"feedforward_activation", "`silu`", "gelu"}},
        Refusal{"Dropout", [](ACTConfig& c) { c.dropout = 1.5; }, {"dropout", "1.5", "between 0 and 1"}},
        Refusal{"NoSight",
                [](ACTConfig& c) { c.input_features = FeatureMap{}; },
                {"input_features", "camera", "observation.environment_state"}},
        Refusal{"NoAction", [](ACTConfig& c) { c.output_features = FeatureMap{}; }, {"output_features", "action"}},
        Refusal{"GreyCamera",
                [](ACTConfig& c) {
                  c.input_features->set("observation.image", {FeatureType::kVisual, {1, 96, 96}});
                },
                {"observation.image", "[1, 96, 96]", "[3, height, width]"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ACTConfig, LooksAtTheBackboneOnlyWhereThereAreCameras) {
  EXPECT_THAT(problems_of([](ACTConfig& c) {
                c.vision_backbone = "resnet50";  // and the default weights, which are resnet18's
                c.dim_model = 6;
                c.n_heads = 2;
                c.input_features = FeatureMap{{"observation.environment_state", {FeatureType::kEnv, {3}}}};
              }),
              IsEmpty());
}

TEST(ACTConfig, TellsAllProblemsAtOnce) {
  const auto lines = problems_of([](ACTConfig& c) {
    c.dropout = -1;
    c.latent_dim = 0;
    c.optimizer_lr = -1e-5;
  });
  EXPECT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines, Contains(HasSubstr("latent_dim")));
}

TEST(ACTConfig, PresetIsAdamWWithItsRateAndDecay) {
  ACTConfig config;
  config.optimizer_lr = 3e-5;
  config.optimizer_weight_decay = 2e-4;
  const auto preset = config.optimizer_preset();
  EXPECT_EQ(preset->type(), "adamw");
  EXPECT_EQ(preset->lr, 3e-5);
  EXPECT_EQ(preset->weight_decay, 2e-4);
  EXPECT_EQ(preset->grad_clip_norm, 10.0);
  EXPECT_EQ(config.scheduler_preset(), nullptr);
}

TEST(ACTConfig, ReadsOneObservationAndTheWholeChunk) {
  ACTConfig config;
  config.chunk_size = 3;
  EXPECT_FALSE(config.observation_delta_indices());
  EXPECT_EQ(config.action_delta_indices(), (std::vector<int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace lerobot::policy
