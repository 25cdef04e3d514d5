// Learning-rate schedules: each group's base rate times a factor of the step count (torch's LambdaLR). Host arithmetic.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lerobot/config/optimizer_config.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "lerobot/optim/scheduler_configs.hpp"

namespace lerobot::optim {

class Scheduler {
 public:
  // Takes the groups' present rates as base rates, records them in the optimizer and sets the rates of the first
  // update. `optimizer` must outlive this. `config` is one of optim/scheduler_configs.hpp. Logs a line when the
  // schedule had to be adapted to `num_training_steps`. Throws UsageError when the schedule is impossible.
  Scheduler(const SchedulerConfig& config, Optimizer& optimizer, int64_t num_training_steps);

  // Once after every micro-batch, also when the optimizer did not step: sets the rates of the next update.
  void step();

  int64_t step_count() const { return last_epoch_; }
  const std::vector<double>& last_lr() const { return last_lr_; }  // one a group, now in force

  // scheduler_state.json, as torch 2.11's LambdaLR has it. Write with to_python_json.
  Json state_dict() const;

  // Restores base rates and position; the shape of the schedule stays this configuration's, and the rates in force are
  // the optimizer's own state. Strict: UsageError naming `source` and the key.
  void load_state_dict(const Json& state, std::string_view source);

 private:
  void apply();

  Optimizer& optimizer_;
  LrFactor factor_;
  std::vector<double> base_lrs_;
  std::vector<double> last_lr_;
  int64_t last_epoch_ = 0;  // steps taken
  int64_t step_count_ = 1;  // torch counts the construction as one
};

}  // namespace lerobot::optim
