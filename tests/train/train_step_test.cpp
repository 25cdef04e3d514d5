#include "lerobot/train/train_step.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler_configs.hpp"
#include "support/torch.hpp"

namespace lerobot::train {
namespace {

// loss = mean((w * x)^2): the gradient of w is known, and a batch with an infinite x makes it non-finite.
class QuadraticPolicy final : public policy::Policy {
 public:
  QuadraticPolicy() { weight_ = register_parameter("weight", torch::ones({3})); }

  const PolicyConfig& config() const override { throw std::logic_error("not needed"); }
  policy::TrainingOutput training_forward(const Batch& batch) override {
    was_training = is_training();
    torch::Tensor loss = (weight_ * batch.at("x")).pow(2).mean();
    if (batch.contains("target")) loss = loss + (weight_ - batch.at("target")).abs().mean();
    return {loss, {{"l2_loss", loss.detach()}}};
  }
  torch::Tensor predict_action_chunk(const Batch&) override { return {}; }
  torch::Tensor select_action(const Batch&) override { return {}; }
  void reset() override {}
  std::vector<policy::ParameterGroup> parameter_groups() const override { return {}; }

  torch::Tensor weight() const { return weight_; }

  bool was_training = false;

 private:
  torch::Tensor weight_;
};

Batch batch_of(float x) {
  return {{{"x", torch::full({3}, x)}}, {}};
}

struct Fixture {
  explicit Fixture(double grad_clip_norm, int64_t accumulation_steps = 1)
      : optimizer(config(), {{policy.parameters(), std::nullopt}}),
        scheduler(schedule(), optimizer, 100),
        step(policy, optimizer, &scheduler,
             {.grad_clip_norm = grad_clip_norm, .accumulation_steps = accumulation_steps}) {}

  static optim::SGDConfig config() {
    optim::SGDConfig config;
    config.lr = 0.5;
    return config;
  }
  static optim::ConstantWithWarmupSchedulerConfig schedule() {
    optim::ConstantWithWarmupSchedulerConfig config;
    config.num_warmup_steps = 0;
    return config;
  }

  QuadraticPolicy policy;
  optim::Optimizer optimizer;
  optim::Scheduler scheduler;
  TrainStep step;
};

// The gradient of |w - target| is finite (0) where the target is NaN.
TEST(TrainStep, WithholdsAnUpdateWhoseLossAloneIsNotFinite) {
  Batch broken = batch_of(0.0f);
  broken.tensors["target"] = torch::full({3}, std::numeric_limits<float>::quiet_NaN());
  Batch good = batch_of(0.0f);
  good.tensors["target"] = torch::zeros({3});
  for (const double grad_clip_norm : {0.0, 10.0}) {
    for (const int64_t accumulation_steps : {1, 2}) {
      Fixture f(grad_clip_norm, accumulation_steps);
      StepResult result = f.step(broken);
      if (accumulation_steps == 2) result = f.step(good);
      EXPECT_EQ(result.found_inf->item<float>(), 1.0f);
      EXPECT_TRUE(f.policy.weight().equal(torch::ones({3})));
      for (int64_t i = 0; i < accumulation_steps; ++i) result = f.step(good);
      EXPECT_EQ(result.found_inf->item<float>(), 0.0f);
      EXPECT_FALSE(f.policy.weight().equal(torch::ones({3})));
    }
  }
}

TEST(TrainStep, AppliesTheClippedGradientAndReportsTheNormBeforeClipping) {
  Fixture f(1.0);
  f.policy.eval();
  const StepResult result = f.step(batch_of(3.0f));  // d loss / d w = 2/3 * 9 * w = 6 each
  EXPECT_TRUE(f.policy.was_training);
  EXPECT_FLOAT_EQ(result.loss.item<float>(), 9.0f);
  EXPECT_FALSE(result.loss.requires_grad());
  const float norm = 6.0f * std::sqrt(3.0f);
  EXPECT_FLOAT_EQ(result.grad_norm->item<float>(), norm);
  EXPECT_EQ(result.found_inf->item<float>(), 0.0f);
  EXPECT_NEAR(f.policy.weight()[0].item<float>(), 1.0f - 0.5f * 6.0f / norm, 1e-6);
  EXPECT_EQ(result.metrics.at(0).first, "l2_loss");
}

TEST(TrainStep, DoesNotMeasureTheNormWhenClippingIsOff) {
  Fixture f(0.0);
  const StepResult result = f.step(batch_of(1.0f));
  EXPECT_FALSE(result.grad_norm.has_value());
  EXPECT_FLOAT_EQ(f.policy.weight()[0].item<float>(), 1.0f - 0.5f * 2.0f / 3.0f);
}

TEST(TrainStep, LeavesTheWeightsAloneButMovesTheScheduleWhenAGradientIsNotFinite) {
  for (const double grad_clip_norm : {1.0, 0.0}) {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      Fixture f(grad_clip_norm);
      const StepResult result = f.step(batch_of(bad));
      EXPECT_EQ(result.found_inf->item<float>(), 1.0f);
      EXPECT_TRUE(torch::equal(f.policy.weight(), torch::ones({3})));
      EXPECT_EQ(f.scheduler.step_count(), 1);
      f.step(batch_of(1.0f));
      EXPECT_LT(f.policy.weight()[0].item<float>(), 1.0f);
    }
  }
}

TEST(TrainStep, StartsEveryStepFromFreshGradients) {
  Fixture f(0.0);
  f.step(batch_of(1.0f));
  for (const auto& parameter : f.policy.parameters()) EXPECT_FALSE(parameter.grad().defined());
}

// d loss / d w = 2/3 * x^2 * w.
TEST(TrainStep, UpdatesOnceAWindowWithTheMeanOfItsGradients) {
  Fixture f(0.0, 2);
  const StepResult first = f.step(batch_of(1.0f));
  EXPECT_FALSE(first.found_inf.has_value());
  EXPECT_FLOAT_EQ(first.loss.item<float>(), 1.0f);  // undivided
  EXPECT_EQ(f.step.accumulated_steps(), 1);
  EXPECT_TRUE(torch::equal(f.policy.weight(), torch::ones({3})));
  const StepResult second = f.step(batch_of(2.0f));
  EXPECT_TRUE(second.found_inf.has_value());
  EXPECT_EQ(f.step.accumulated_steps(), 0);
  EXPECT_FLOAT_EQ(f.policy.weight()[0].item<float>(), 1.0f - 0.5f * 2.0f / 3.0f * (1.0f + 4.0f) / 2.0f);
  EXPECT_EQ(f.scheduler.step_count(), 2);
}

TEST(TrainStep, ClipsTheWindowAndNotItsBatches) {
  Fixture f(1.0, 2);
  EXPECT_FALSE(f.step(batch_of(3.0f)).grad_norm.has_value());
  EXPECT_FLOAT_EQ(f.step(batch_of(3.0f)).grad_norm->item<float>(), 6.0f * std::sqrt(3.0f));
}

TEST(TrainStep, DropsAWholeWindowWhoseFirstBatchWasNotFinite) {
  Fixture f(1.0, 2);
  f.step(batch_of(std::numeric_limits<float>::infinity()));
  EXPECT_EQ(f.step(batch_of(1.0f)).found_inf->item<float>(), 1.0f);
  EXPECT_TRUE(torch::equal(f.policy.weight(), torch::ones({3})));
  f.step(batch_of(1.0f));
  f.step(batch_of(1.0f));
  EXPECT_FLOAT_EQ(f.policy.weight()[0].item<float>(), 1.0f - 0.5f / std::sqrt(3.0f));
}

TEST(TrainStep, GoesOnWithAnOpenWindow) {
  Fixture whole(0.0, 3);
  Fixture resumed(0.0, 3);
  whole.step(batch_of(1.0f));
  whole.step(batch_of(2.0f));
  TensorMap gradients;
  for (const auto& [name, gradient] : whole.step.accumulated_gradients()) gradients[name] = gradient.clone();
  resumed.step.resume_window(whole.step.accumulated_steps(), gradients, "accumulated_gradients.safetensors");
  whole.step(batch_of(3.0f));
  resumed.step(batch_of(3.0f));
  EXPECT_FALSE(torch::equal(whole.policy.weight(), torch::ones({3})));
  EXPECT_TRUE(torch::equal(whole.policy.weight(), resumed.policy.weight()));
  EXPECT_TRUE(whole.step.accumulated_gradients().empty());
}

TEST(TrainStep, RefusesAnOpenWindowOfAnotherPolicy) {
  Fixture f(0.0, 2);
  EXPECT_THROW(f.step.resume_window(1, {{"grad/0", torch::ones({4})}}, "file"), UsageError);
  EXPECT_THROW(f.step.resume_window(1, {{"grad/1", torch::ones({3})}}, "file"), UsageError);
}

}  // namespace
}  // namespace lerobot::train
