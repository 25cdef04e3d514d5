// The training step in float16 with a scaled loss. The program refuses fp16 on the CPU, where it is slow; the step
// itself runs there, with the same kernels in autocast, GradScaler and the fused optimizer that an accelerator has.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/optim/ema.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler_configs.hpp"
#include "lerobot/precision/grad_scaler.hpp"
#include "lerobot/train/train_step.hpp"
#include "support/torch.hpp"

namespace lerobot::train {
namespace {

using Floats = std::vector<float>;

// 3-8-2 ReLU network with squared error, whose first layer's gradient can be spoilt.
class NetworkPolicy final : public policy::Policy {
 public:
  explicit NetworkPolicy(const Json& init) {
    const std::vector<std::vector<int64_t>> shapes = {{8, 3}, {8}, {2, 8}, {2}};
    for (size_t i = 0; i < shapes.size(); ++i) {
      params_.push_back(
          register_parameter("p" + std::to_string(i), torch::tensor(init[i].get<Floats>()).reshape(shapes[i])));
    }
    params_[0].register_hook([this](torch::Tensor gradient) {
      if (pattern == ".") return gradient;
      gradient = gradient.clone();
      gradient[1][2] =
          pattern == "i" ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
      return gradient;
    });
  }

  const PolicyConfig& config() const override { throw std::logic_error("not needed"); }
  policy::TrainingOutput training_forward(const Batch& batch) override {
    const torch::Tensor hidden = at::linear(batch.at("x"), params_[0], params_[1]).relu();
    const torch::Tensor out = at::linear(hidden, params_[2], params_[3]);
    computed_in = out.scalar_type();
    return {(out.to(torch::kFloat32) - batch.at("y")).pow(2).mean(), {}};
  }
  torch::Tensor predict_action_chunk(const Batch&) override { return {}; }
  torch::Tensor select_action(const Batch&) override { return {}; }
  void reset() override {}
  std::vector<policy::ParameterGroup> parameter_groups() const override { return {}; }

  const std::vector<torch::Tensor>& params() const { return params_; }

  std::string pattern = ".";  // "i": an infinity comes into the next gradient, "n": a NaN
  torch::ScalarType computed_in = torch::kFloat32;

 private:
  std::vector<torch::Tensor> params_;
};

struct Fixture {
  explicit Fixture(const Json& trace)
      : policy(trace["init"]),
        optimizer(config(), {{policy.parameters(), std::nullopt}}),
        scheduler(schedule(), optimizer, 100),
        scaler({.init_scale = trace["init_scale"], .growth_interval = trace["growth_interval"]}),
        ema({}, policy.parameters()),
        step(policy, optimizer, &scheduler,
             {.grad_clip_norm = trace["clip"].get<bool>() ? 1.0 : 0.0,
              .precision = precision::Precision::kFp16,
              .accumulation_steps = 2,
              .scaler = &scaler}) {}

  static optim::AdamWConfig config() {
    optim::AdamWConfig config;
    config.lr = 0.01;
    config.weight_decay = 0.1;
    return config;
  }
  static optim::ConstantWithWarmupSchedulerConfig schedule() {
    optim::ConstantWithWarmupSchedulerConfig config;
    config.num_warmup_steps = 0;
    return config;
  }

  StepResult run(const torch::Tensor& x, const torch::Tensor& y) {
    StepResult result = step({{{"x", x}, {"y", y}}, {}});
    if (result.found_inf) ema.update(*result.found_inf);
    return result;
  }

  double optimizer_step() const {
    const TensorMap state = optimizer.state_tensors();
    return state.empty() ? 0.0 : state.at("state/0/step").item<double>();
  }

  NetworkPolicy policy;
  optim::Optimizer optimizer;
  optim::Scheduler scheduler;
  precision::GradScaler scaler;
  optim::ExponentialMovingAverage ema;
  TrainStep step;
};

// tests/data/scaler/make_traces.py recorded torch.amp on the same network, batches and spoilt gradients.
class Fp16Trace : public testing::TestWithParam<int> {
 protected:
  Json trace_ = read_json(LEROBOT_TEST_DATA "/scaler/fp16_trace.json")[GetParam()];
};

TEST_P(Fp16Trace, FollowsTorchThroughWindowsAndOverflows) {
  Fixture f(trace_);
  const Json& batches = trace_["batches"];
  const auto inputs = [&](const char* key, int64_t width) {
    return torch::tensor(trace_[key].get<Floats>()).reshape({-1, 4, width});
  };
  const torch::Tensor x = inputs("x", 3);
  const torch::Tensor y = inputs("y", 2);
  int64_t updates = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    SCOPED_TRACE(i);
    const Json& expected = batches[i];
    f.policy.pattern = expected["pattern"];
    std::vector<torch::Tensor> before;
    for (const torch::Tensor& param : f.policy.params()) before.push_back(param.detach().clone());
    const StepResult result = f.run(x[i], y[i]);

    EXPECT_EQ(f.policy.computed_in, torch::kFloat16);
    EXPECT_NEAR(result.loss.item<float>(), expected["loss"].get<float>(), 2e-3);
    EXPECT_EQ(result.grad_scale->item<double>(), expected["scale"].get<double>());
    EXPECT_EQ(f.scaler.growth_tracker(), expected["growth_tracker"].get<int64_t>());
    EXPECT_EQ(f.scheduler.step_count(), static_cast<int64_t>(i) + 1);
    ASSERT_EQ(result.found_inf.has_value(), expected.contains("optimizer_ran"));
    if (!result.found_inf) continue;
    const bool ran = expected["optimizer_ran"];
    updates += ran ? 1 : 0;
    EXPECT_EQ(result.found_inf->item<float>(), ran ? 0.0f : 1.0f);
    EXPECT_EQ(f.optimizer_step(), expected["optimizer_step"].get<double>());
    EXPECT_EQ(f.ema.state().optimization_step, updates);
    for (size_t p = 0; p < before.size(); ++p) {
      const auto weights = torch::tensor(expected["weights"][p].get<Floats>());
      EXPECT_TRUE(torch::allclose(f.policy.params()[p].detach().flatten(), weights, 1e-3, 1e-3)) << "parameter " << p;
      EXPECT_EQ(torch::equal(f.policy.params()[p], before[p]), !ran) << "parameter " << p;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Train, Fp16Trace, testing::Values(0, 1),
                         [](const auto& info) { return info.param == 0 ? "Clipped" : "NotClipped"; });

TEST(Fp16Step, ResumesTheScaleInsideAWindow) {
  const Json trace = read_json(LEROBOT_TEST_DATA "/scaler/fp16_trace.json")[0];
  const torch::Tensor x = torch::tensor(trace["x"].get<Floats>()).reshape({-1, 4, 3});
  const torch::Tensor y = torch::tensor(trace["y"].get<Floats>()).reshape({-1, 4, 2});
  Fixture whole(trace);
  for (int i = 0; i < 5; ++i) whole.run(x[i], y[i]);

  Fixture resumed(trace);
  for (size_t p = 0; p < whole.policy.params().size(); ++p) {
    const torch::NoGradGuard no_grad;
    resumed.policy.params()[p].copy_(whole.policy.params()[p]);
  }
  TensorMap moments;
  for (const auto& [name, tensor] : whole.optimizer.state_tensors()) moments[name] = tensor.clone();
  TensorMap gradients;
  for (const auto& [name, tensor] : whole.step.accumulated_gradients()) gradients[name] = tensor.clone();
  resumed.optimizer.load_state_tensors(moments, "optimizer_state.safetensors");
  resumed.scaler.load_state_dict(whole.scaler.state_dict(), "scaler_state.json");
  resumed.step.resume_window(whole.step.accumulated_steps(), gradients, "accumulated_gradients.safetensors");

  for (int i = 5; i < 12; ++i) {
    SCOPED_TRACE(i);
    whole.run(x[i], y[i]);
    resumed.run(x[i], y[i]);
    EXPECT_EQ(whole.scaler.get_scale(), resumed.scaler.get_scale());
    for (size_t p = 0; p < whole.policy.params().size(); ++p) {
      EXPECT_TRUE(torch::equal(whole.policy.params()[p], resumed.policy.params()[p])) << "parameter " << p;
    }
  }
}

TEST(Fp16Step, StopsWhenEveryUpdateOverflows) {
  const Json trace = read_json(LEROBOT_TEST_DATA "/scaler/fp16_trace.json")[1];
  Fixture f(trace);
  f.policy.pattern = "i";
  const torch::Tensor x = torch::ones({4, 3});
  const torch::Tensor y = torch::ones({4, 2});
  for (int i = 0; i < 400; ++i) f.run(x, y);
  EXPECT_THROW(f.scaler.require_usable_scale(), RunError);
}

}  // namespace
}  // namespace lerobot::train
