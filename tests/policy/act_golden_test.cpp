// ACT against LeRobot, value by value: forward passes, every gradient, three optimizer steps, inference.
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/utils.h>

#include <algorithm>

#include "lerobot/optim/optimizer.hpp"
#include "lerobot/policy/run_unit.hpp"
#include "policy/golden_case.hpp"

namespace lerobot::policy {
namespace {

constexpr Tolerance kForward{1e-5, 2e-6};
constexpr Tolerance kIntermediate{2e-5, 2e-6};
constexpr Tolerance kGradient{5e-5, 3e-5};
constexpr Tolerance kGradientDigest{1e-4, 1e-7};
constexpr double kLossRelative = 1e-5;
constexpr double kUpdated = 2e-5;           // where the gradient is above kNoise
constexpr double kNoise = 1e-4;             // below it, rounding decides and two correct builds differ by up to lr
constexpr double kUpdatedNoiseInSteps = 6;  // of lr

class ACTGolden : public testing::TestWithParam<const char*> {
 protected:
  torch::Tensor train_eps(int64_t step) const {
    return golden_.config.use_vae ? golden_.inputs.at("train3/eps")[step] : torch::Tensor();
  }
  TrainingOutput training_forward(ACTPolicy& policy, int64_t step) const {
    const auto eps = train_eps(step);
    return policy.training_forward(golden_.batch("batch"), eps.defined() ? std::optional(eps) : std::nullopt);
  }
  void expect_updated_close(const TensorMap& ours, const std::string& group) const;

  GoldenCase golden_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(LeRobot, ACTGolden,
                         testing::Values("act_env", "act_env_prenorm", "act_env_nostate_vae", "act_image",
                                         "act_image2"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ACTGolden, HasTheParametersAndShapesInOrder) {
  const auto policy = golden_.make_policy();
  std::vector<std::string> names;
  for (const auto& parameter : policy->named_parameters()) names.push_back(parameter.key());
  EXPECT_EQ(names, golden_.meta.at("trainable").get<std::vector<std::string>>());

  // The groups hold them in the same order, the backbone apart.
  std::stable_partition(names.begin(), names.end(),
                        [](const auto& name) { return !name.starts_with("model.backbone"); });
  std::vector<std::string> grouped;
  for (const auto& group : policy->parameter_groups()) {
    grouped.insert(grouped.end(), group.names.begin(), group.names.end());
  }
  EXPECT_EQ(grouped, names);

  const TensorMap state = state_dict(*policy);
  EXPECT_EQ(state.size(), golden_.meta.at("state_dict").size());
  for (const auto& [name, description] : golden_.meta.at("state_dict").items()) {
    ASSERT_TRUE(state.contains(name)) << name;
    const std::vector<int64_t> shape(description.begin() + 1, description.end());
    EXPECT_EQ(state.at(name).sizes().vec(), shape) << name;
  }
}

TEST_P(ACTGolden, EvaluatesAsLeRobot) {
  const auto policy = golden_.make_policy();
  policy->eval();
  Batch batch = golden_.batch("batch");
  const TrainingOutput output = policy->training_forward(batch);
  expect_close(output.loss, golden_.outputs.at("eval/loss"), kForward, "loss");
  ASSERT_EQ(output.metrics.size(), 1U);
  EXPECT_EQ(output.metrics[0].first, "l1_loss");
  expect_close(policy->predict_action_chunk(batch), golden_.outputs.at("eval/actions"), kForward, "actions");

  batch.tensors["action_is_pad"] = torch::ones_like(batch.at("action_is_pad"));
  EXPECT_EQ(policy->training_forward(batch).loss.item<double>(), 0.0) << "an all-padded batch has no loss";
}

TEST_P(ACTGolden, TrainsForwardAsLeRobotInsideAndOut) {
  const auto policy = golden_.make_policy();
  policy->train();
  ACT& model = policy->model();

  // Outputs of the wrap units, by their name in the model; the last call counts (several cameras share the backbone).
  std::map<const torch::nn::Module*, std::string> unit_names;
  for (const auto& module : model.named_modules()) unit_names[module.value().get()] = module.key();
  TensorMap seen;
  ACTOutput output;
  {
    const UnitHookScope hook([&](torch::nn::Module& unit, const std::function<torch::Tensor()>& forward) {
      return seen[unit_names.at(&unit)] = forward();
    });
    const auto eps = train_eps(0);
    output = model.forward(golden_.batch("batch"), eps.defined() ? std::optional(eps) : std::nullopt);
  }

  expect_close(output.actions, golden_.outputs.at("train/actions"), kForward, "actions");
  EXPECT_EQ(output.mu.defined(), golden_.config.use_vae);
  if (golden_.config.use_vae) {
    expect_close(output.mu, golden_.outputs.at("train/mu"), kForward, "mu");
    expect_close(output.log_sigma_x2, golden_.outputs.at("train/log_sigma_x2"), kForward, "log_sigma_x2");
  }
  const auto expect_unit = [&](const std::string& unit, const std::string& name) {
    ASSERT_TRUE(seen.contains(unit)) << unit;
    expect_close(seen.at(unit), golden_.outputs.at("dbg/" + name), kIntermediate, name);
  };
  expect_unit("encoder.layers.0", "encoder_layer0_out");
  expect_unit("decoder.layers.0", "decoder_layer0_out");
  if (model.backbone()) expect_unit("backbone", "feature_map_last_cam");

  // A stack's output is its last layer's, through the norm that follows it.
  const auto parameters = model.named_parameters();
  const auto expect_stack = [&](const std::string& stack, int64_t layers) {
    const torch::Tensor& last = seen.at(fmt::format("{}.layers.{}", stack, layers - 1));
    const torch::Tensor* weight = parameters.find(stack + ".norm.weight");
    const auto out =
        weight ? torch::layer_norm(last, {last.size(-1)}, *weight, parameters[stack + ".norm.bias"]) : last;
    expect_close(out, golden_.outputs.at(fmt::format("dbg/{}_out", stack)), kIntermediate, stack);
  };
  expect_stack("encoder", golden_.config.n_encoder_layers);
  expect_stack("decoder", golden_.config.n_decoder_layers);
  if (golden_.config.use_vae) expect_stack("vae_encoder", golden_.config.n_vae_encoder_layers);
}

TEST_P(ACTGolden, HasEveryGradient) {
  const auto policy = golden_.make_policy();
  policy->train();
  training_forward(*policy, 0).loss.backward();
  size_t compared = 0;
  for (const auto& parameter : policy->named_parameters()) {
    const std::string& name = parameter.key();
    const torch::Tensor& gradient = parameter.value().grad();
    ASSERT_TRUE(gradient.defined()) << name;
    if (golden_.outputs.contains("grad/" + name)) {
      expect_close(gradient, golden_.outputs.at("grad/" + name), kGradient, name);
    } else {
      ASSERT_TRUE(golden_.outputs.contains("grad_digest/" + name)) << name;
      expect_digest_close(gradient, golden_.outputs.at("grad_digest/" + name), kGradientDigest, true, name);
    }
    ++compared;
  }
  EXPECT_EQ(compared, golden_.meta.at("trainable").size());
}

// The golden weights after some steps; `group` is after1 or after3.
void ACTGolden::expect_updated_close(const TensorMap& ours, const std::string& group) const {
  for (const std::string& name : golden_.outputs_of(group)) {
    const bool is_backbone = name.starts_with("model.backbone");
    const double lr = is_backbone ? golden_.config.optimizer_lr_backbone : golden_.config.optimizer_lr;
    const torch::Tensor& golden = golden_.outputs.at(group + "/" + name);
    const auto error = (ours.at(name) - golden).abs();
    EXPECT_LE(error.max().item<double>(), kUpdatedNoiseInSteps * lr) << group << " " << name;
    const auto has_gradient = golden_.outputs.at("grad/" + name).abs() > kNoise;
    EXPECT_LE((error * has_gradient).max().item<double>(), kUpdated) << group << " " << name;
  }
}

TEST_P(ACTGolden, TakesThreeStepsAsLeRobot) {
  const auto policy = golden_.make_policy();
  policy->train();
  std::vector<optim::ParamGroup> groups;
  for (const ParameterGroup& group : policy->parameter_groups()) groups.push_back({group.parameters, group.lr});
  optim::Optimizer optimizer(*golden_.config.optimizer_preset(), std::move(groups));

  const auto& train3 = golden_.meta.at("train3");
  for (int64_t step = 0; step < 3; ++step) {
    const TrainingOutput output = training_forward(*policy, step);
    output.loss.backward();
    const double loss = train3.at("loss")[step];
    EXPECT_NEAR(output.loss.item<double>(), loss, kLossRelative * std::abs(loss)) << "step " << step;
    const auto& terms = train3.at("loss_dicts")[step];
    ASSERT_EQ(output.metrics.size(), terms.size());
    for (const auto& [name, value] : output.metrics) {
      const double golden = terms.at(name);
      EXPECT_NEAR(value.item<double>(), golden, kLossRelative * std::abs(golden)) << name << ", step " << step;
    }
    const double norm = torch::nn::utils::clip_grad_norm_(policy->parameters(), 10.0);
    const double golden_norm = train3.at("grad_norm")[step];
    EXPECT_NEAR(norm, golden_norm, kLossRelative * golden_norm) << "step " << step;
    optimizer.step();
    optimizer.zero_grad();
    if (step == 0) expect_updated_close(state_dict(*policy), "after1");
  }

  const TensorMap ours = state_dict(*policy);
  expect_updated_close(ours, "after3");
  for (const std::string& name : golden_.outputs_of("after3_digest")) {
    const bool is_backbone = name.starts_with("model.backbone");
    const double lr = is_backbone ? golden_.config.optimizer_lr_backbone : golden_.config.optimizer_lr;
    expect_digest_close(ours.at(name), golden_.outputs.at("after3_digest/" + name), {1e-6, 0.3 * lr}, false, name);
  }
  for (const std::string& name : golden_.outputs_of("after3_buf_digest")) {
    expect_digest_close(ours.at(name), golden_.outputs.at("after3_buf_digest/" + name), {5e-5, 0}, true, name);
  }
}

TEST_P(ACTGolden, SelectsActionsAsLeRobot) {
  const auto policy = golden_.make_policy();
  policy->train();  // select_action must leave it
  const auto& actions = golden_.outputs.at("select/actions");
  Batch observation;
  for (int64_t t = 0; t < actions.size(0); ++t) {
    observation = golden_.batch(fmt::format("select/{}", t));
    expect_close(policy->select_action(observation), actions[t], kForward, fmt::format("step {}", t));
  }
  policy->reset();
  expect_close(policy->select_action(observation), golden_.outputs.at("select/after_reset_action"), kForward,
               "after reset");
}

}  // namespace
}  // namespace lerobot::policy
