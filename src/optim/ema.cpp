#include "lerobot/optim/ema.hpp"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/log.hpp"

namespace lerobot::optim {
namespace {

constexpr int64_t kFirstScheduleLength = 4096;
// How many elements' differences are in memory at a time: 4 MiB, which stay near the core, or 64 MiB, which take few
// kernels. (Measured on one core with 52 million weights: 120 ms an update; with 32 MiB 160 ms and more.)
int64_t group_elements(c10::Device device) {
  return device.is_cpu() ? int64_t{1} << 20 : int64_t{1} << 24;
}

// EMAModel.get_decay.
double decay_at(const EmaState& settings, int64_t optimization_step) {
  const int64_t steps = optimization_step - settings.update_after_step - 1;
  if (steps <= 0) return 0.0;
  const auto t = static_cast<double>(steps);
  const double decay =
      settings.use_ema_warmup ? 1 - std::pow(1 + t / settings.inv_gamma, -settings.power) : (1 + t) / (10 + t);
  return std::max(std::min(decay, settings.decay), settings.min_decay);
}

// Whether the decay is at its largest and, as both curves only rise, stays there.
bool is_at_its_end(const EmaState& settings, int64_t optimization_step) {
  return optimization_step - settings.update_after_step - 1 > 0 &&
         decay_at(settings, optimization_step) == std::max(settings.decay, settings.min_decay);
}

EmaState settings_of(const EmaConfig& config) {
  EmaState settings;
  settings.decay = config.decay.value_or(config.max_decay);
  settings.min_decay = config.decay.value_or(config.min_decay);
  settings.update_after_step = config.update_after_step;
  settings.inv_gamma = config.inv_gamma;
  settings.power = config.power;
  return settings;
}

std::vector<std::string> differences(const EmaState& configured, const EmaState& loaded) {
  std::vector<std::string> found;
  const auto compare = [&found](std::string_view name, const auto& ours, const auto& theirs) {
    if (ours != theirs) found.push_back(fmt::format("{} {} instead of {}", name, theirs, ours));
  };
  compare("decay", configured.decay, loaded.decay);
  compare("min_decay", configured.min_decay, loaded.min_decay);
  compare("update_after_step", configured.update_after_step, loaded.update_after_step);
  compare("use_ema_warmup", configured.use_ema_warmup, loaded.use_ema_warmup);
  compare("inv_gamma", configured.inv_gamma, loaded.inv_gamma);
  compare("power", configured.power, loaded.power);
  return found;
}

void require_settings_in_range(const EmaState& state, std::string_view source) {
  const auto require = [source](bool holds, std::string_view name, const auto& value, std::string_view accepted) {
    if (!holds) throw UsageError(fmt::format("{}: {} must be {}, got {}", source, name, accepted, value));
  };
  require(state.decay >= 0 && state.decay <= 1, "decay", state.decay, "between 0 and 1");
  require(state.min_decay >= 0 && state.min_decay <= 1, "min_decay", state.min_decay, "between 0 and 1");
  require(state.optimization_step >= 0, "optimization_step", state.optimization_step, "0 or more");
  require(state.update_after_step >= 0, "update_after_step", state.update_after_step, "0 or more");
  require(state.inv_gamma > 0, "inv_gamma", state.inv_gamma, "above 0");
  require(state.power > 0, "power", state.power, "above 0");
}

void require_same_tensors(const std::vector<torch::Tensor>& ours, const std::vector<torch::Tensor>& theirs,
                          std::string_view source) {
  if (ours.size() != theirs.size()) {
    throw UsageError(fmt::format("{}: shadow_params has {} tensors, but the policy has {} parameters", source,
                                 theirs.size(), ours.size()));
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    if (theirs[i].sizes() != ours[i].sizes()) {
      throw UsageError(fmt::format("{}: shadow_params[{}] is [{}], but the policy's parameter is [{}]", source, i,
                                   fmt::join(theirs[i].sizes().vec(), ", "), fmt::join(ours[i].sizes().vec(), ", ")));
    }
    if (theirs[i].scalar_type() != ours[i].scalar_type()) {
      throw UsageError(fmt::format("{}: shadow_params[{}] is {}, but shadows are {}", source, i,
                                   c10::toString(theirs[i].scalar_type()), c10::toString(ours[i].scalar_type())));
    }
  }
}

}  // namespace

ExponentialMovingAverage::ExponentialMovingAverage(const EmaConfig& config, std::vector<torch::Tensor> parameters)
    : state_(settings_of(config)) {
  TORCH_CHECK(!parameters.empty(), "an average of no parameters");
  const int64_t full = group_elements(parameters.front().device());
  int64_t room = 0;  // elements that the last group still takes
  for (torch::Tensor& parameter : parameters) {
    TORCH_CHECK(parameter.device() == parameters.front().device(), "parameters on several devices");
    torch::Tensor shadow = parameter.detach().to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    state_.shadow_params.push_back(shadow);
    const bool is_averaged = parameter.requires_grad();
    if (is_averaged && room <= 0) {
      averaged_.emplace_back();
      room = full;
    }
    if (is_averaged) room -= parameter.numel();
    Group& group = is_averaged ? averaged_.back() : copied_;
    group.shadows.push_back(std::move(shadow));
    group.parameters.push_back(parameter);
  }
  start_schedule(0);
}

void ExponentialMovingAverage::start_schedule(int64_t step) {
  state_.optimization_step = step;
  attempts_ = 0;
  counted_ = torch::zeros({1}, torch::dtype(torch::kInt64).device(state_.shadow_params.front().device()));
  extend_schedule(kFirstScheduleLength);
}

// Makes the schedule `count` values long, or as long as it takes for the decay to reach its end.
void ExponentialMovingAverage::extend_schedule(int64_t count) {
  std::vector<float> values;
  schedule_is_flat_after_ = false;
  for (int64_t i = 0; i < count && !schedule_is_flat_after_; ++i) {
    values.push_back(static_cast<float>(1 - decay_at(state_, state_.optimization_step + i)));
    schedule_is_flat_after_ = is_at_its_end(state_, state_.optimization_step + i);
  }
  schedule_ = torch::tensor(values, torch::kFloat32).to(counted_.device());
}

void ExponentialMovingAverage::update(const torch::Tensor& found_inf) {
  const torch::NoGradGuard no_grad;
  ++attempts_;
  if (!schedule_is_flat_after_ && attempts_ >= schedule_.numel()) extend_schedule(2 * schedule_.numel());

  const torch::Tensor counts = found_inf.reshape({1}).ne(1);
  counted_.add_(counts);
  // A skipped update multiplies the differences, finite as the weights are, by 0.
  const torch::Tensor one_minus_decay =
      schedule_.index_select(0, counted_.clamp_max(schedule_.numel() - 1)).mul_(counts).squeeze(0);
  for (const Group& group : averaged_) {
    const std::vector<torch::Tensor> differences = at::_foreach_sub(group.shadows, group.parameters);
    at::_foreach_mul_(differences, one_minus_decay);
    at::_foreach_sub_(group.shadows, differences);
  }
  // No update touches these, skipped or not.
  if (!copied_.shadows.empty()) at::_foreach_copy_(copied_.shadows, copied_.parameters);
}

EmaState ExponentialMovingAverage::state() const {
  EmaState state = state_;
  state.optimization_step += counted_.item<int64_t>();
  return state;
}

void ExponentialMovingAverage::load_state(const EmaState& state, std::string_view source) {
  require_settings_in_range(state, source);
  require_same_tensors(state_.shadow_params, state.shadow_params, source);
  if (const auto found = differences(state_, state); !found.empty()) {
    log::warning(fmt::format("{}: a resumed average keeps the settings it was saved with, not --ema's: {}", source,
                             fmt::join(found, ", ")));
  }

  const torch::NoGradGuard no_grad;
  at::_foreach_copy_(state_.shadow_params, state.shadow_params);
  std::vector<torch::Tensor> shadows = std::move(state_.shadow_params);
  state_ = state;
  state_.shadow_params = std::move(shadows);
  start_schedule(state.optimization_step);
}

}  // namespace lerobot::optim
