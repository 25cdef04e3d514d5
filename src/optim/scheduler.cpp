#include "lerobot/optim/scheduler.hpp"

#include <fmt/format.h>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "strict_json.hpp"

namespace lerobot::optim {

Scheduler::Scheduler(const SchedulerConfig& config, Optimizer& optimizer, int64_t num_training_steps)
    : optimizer_(optimizer) {
  const auto* schedule = dynamic_cast<const ScheduleConfig*>(&config);
  if (schedule == nullptr) throw RunError(fmt::format("no scheduler for the configuration type `{}`", config.type()));
  std::string note;
  factor_ = schedule->factor({.num_training_steps = num_training_steps, .lr = optimizer.default_lr()}, note);
  if (!note.empty()) log::info(note);
  for (size_t group = 0; group < optimizer_.group_count(); ++group) {
    base_lrs_.push_back(optimizer_.lr(group));
    optimizer_.set_initial_lr(group, optimizer_.lr(group));
  }
  apply();
}

void Scheduler::step() {
  ++step_count_;
  ++last_epoch_;
  apply();
}

void Scheduler::apply() {
  const double factor = factor_(last_epoch_);
  last_lr_.clear();
  for (size_t group = 0; group < base_lrs_.size(); ++group) {
    last_lr_.push_back(base_lrs_[group] * factor);
    optimizer_.set_lr(group, last_lr_.back());
  }
}

Json Scheduler::state_dict() const {
  Json state = Json::object();
  state["base_lrs"] = base_lrs_;
  state["last_epoch"] = last_epoch_;
  state["_step_count"] = step_count_;
  state["_is_initial"] = false;
  state["_get_lr_called_within_step"] = false;
  state["_last_lr"] = last_lr_;
  state["lr_lambdas"] = Json::array();
  for (size_t group = 0; group < base_lrs_.size(); ++group) state["lr_lambdas"].push_back(nullptr);
  return state;
}

void Scheduler::load_state_dict(const Json& state, std::string_view source) {
  require_same_shape(state_dict(), state, source);
  const int64_t last_epoch = state.at("last_epoch");
  for (const char* key : {"last_epoch", "_step_count"}) {
    constexpr int64_t kMostSteps = int64_t{1} << 53;  // beyond it a double, which the factors count in, skips some
    if (state.at(key).get<int64_t>() > kMostSteps || state.at(key).get<int64_t>() < 0) {
      throw UsageError(
          fmt::format("{}: {}: must be from 0 to {}, got {}", source, key, kMostSteps, state.at(key).dump()));
    }
  }
  base_lrs_ = state.at("base_lrs").get<std::vector<double>>();
  last_lr_ = state.at("_last_lr").get<std::vector<double>>();
  last_epoch_ = last_epoch;
  step_count_ = state.at("_step_count");
}

}  // namespace lerobot::optim
