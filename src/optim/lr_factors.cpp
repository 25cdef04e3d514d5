// The schedules' formulas. Built without fused multiply-add (CMakeLists.txt), which would change the last bit.
// Sources: LeRobot's optim/schedulers.py; diffusers' optimization.py for DiffuserSchedulerConfig.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/scheduler_configs.hpp"

namespace lerobot::optim {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kPolynomialLrEnd = 1e-7;

// a / max(1, b) in double.
double ratio(int64_t a, int64_t b) {
  return static_cast<double>(a) / static_cast<double>(std::max<int64_t>(1, b));
}

double half_cosine(double progress) {
  return std::max(0.0, 0.5 * (1.0 + std::cos(kPi * progress)));
}

// s/W below W, then `after(s)`.
template <class After>
LrFactor with_warmup(int64_t warmup, After after) {
  return [warmup, after](int64_t step) { return step < warmup ? ratio(step, warmup) : after(step); };
}

LrFactor cosine_to_zero(int64_t warmup, int64_t total) {
  return with_warmup(warmup, [=](int64_t step) { return half_cosine(ratio(step - warmup, total - warmup)); });
}

LrFactor polynomial_to_end(int64_t warmup, int64_t total, double lr) {
  if (!(lr > kPolynomialLrEnd)) {
    throw UsageError(
        fmt::format("--scheduler.name=polynomial ends at a learning rate of {}: --optimizer.lr must be above "
                    "it, got {}",
                    kPolynomialLrEnd, lr));
  }
  return with_warmup(warmup, [=](int64_t step) {
    if (step > total || total <= warmup) return kPolynomialLrEnd / lr;
    const double remaining = 1.0 - static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
    return ((lr - kPolynomialLrEnd) * remaining + kPolynomialLrEnd) / lr;
  });
}

}  // namespace

LrFactor DiffuserSchedulerConfig::factor(const ScheduleInputs& inputs, std::string& /*note*/) const {
  const int64_t total = inputs.num_training_steps;
  const int64_t warmup = num_warmup_steps.value_or(0);
  if (name == "constant") return [](int64_t) { return 1.0; };
  if (name == "constant_with_warmup") return with_warmup(warmup, [](int64_t) { return 1.0; });
  if (name == "cosine") return cosine_to_zero(warmup, total);
  if (name == "linear") {
    return with_warmup(warmup, [=](int64_t step) { return std::max(0.0, ratio(total - step, total - warmup)); });
  }
  if (name == "cosine_with_restarts") {
    return with_warmup(warmup, [=](int64_t step) {
      const double progress = ratio(step - warmup, total - warmup);
      return progress >= 1.0 ? 0.0 : half_cosine(std::fmod(progress, 1.0));
    });
  }
  if (name == "polynomial") return polynomial_to_end(warmup, total, inputs.lr);
  throw UsageError(fmt::format("--scheduler.name: unknown schedule `{}`", name));
}

LrFactor VqbetSchedulerConfig::factor(const ScheduleInputs& inputs, std::string& /*note*/) const {
  const int64_t first_stage = num_vqvae_training_steps;
  const int64_t warmup = num_warmup_steps;
  const int64_t total = inputs.num_training_steps;
  const double cycles = num_cycles;
  return [=](int64_t step) {
    if (step < first_stage) return 1.0;
    const int64_t second = step - first_stage;
    if (second < warmup) return ratio(second, warmup);
    const double progress = ratio(second - warmup, total - warmup);
    return std::max(0.0, 0.5 * (1.0 + std::cos(kPi * cycles * 2.0 * progress)));
  };
}

LrFactor ConstantWithWarmupSchedulerConfig::factor(const ScheduleInputs& /*inputs*/, std::string& /*note*/) const {
  return with_warmup(num_warmup_steps, [](int64_t) { return 1.0; });
}

LrFactor CosineAnnealingWithWarmupSchedulerConfig::factor(const ScheduleInputs& inputs, std::string& /*note*/) const {
  return cosine_to_zero(num_warmup_steps, inputs.num_training_steps);
}

LrFactor CosineDecayWithWarmupSchedulerConfig::factor(const ScheduleInputs& inputs, std::string& note) const {
  const int64_t total = inputs.num_training_steps;
  int64_t warmup = num_warmup_steps;
  int64_t decay = num_decay_steps;
  if (total < decay) {
    const double scale = static_cast<double>(total) / static_cast<double>(decay);
    warmup = static_cast<int64_t>(static_cast<double>(warmup) * scale);
    decay = total;
    note = fmt::format(
        "Auto-scaling LR scheduler: {} training steps are fewer than num_decay_steps={}; "
        "num_warmup_steps {} -> {}, num_decay_steps {} -> {} (factor {:.3f})",
        total, num_decay_steps, num_warmup_steps, warmup, num_decay_steps, decay, scale);
  }
  const double lowest = decay_lr / peak_lr;
  return [=](int64_t step) {
    if (step < warmup) {
      const double start = 1.0 / static_cast<double>(warmup + 1);
      if (step <= 0) return start;
      const double left = 1.0 - static_cast<double>(step) / static_cast<double>(warmup);
      return (start - 1.0) * left + 1.0;
    }
    const auto position = static_cast<double>(std::min(step, decay));
    const double cosine = 0.5 * (1.0 + std::cos(kPi * position / static_cast<double>(std::max<int64_t>(1, decay))));
    return (1.0 - lowest) * cosine + lowest;
  };
}

}  // namespace lerobot::optim
