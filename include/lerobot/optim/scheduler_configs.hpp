// The learning-rate schedules a user can choose, with LeRobot's fields, defaults and file order (LeRobot:
// optim/schedulers.py). A schedule is a factor f(s) on each group's base learning rate; s counts scheduler steps, so
// f(0) is the factor of the first update. N is the number of training steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lerobot/config/choice.hpp"
#include "lerobot/config/optimizer_config.hpp"

namespace lerobot::optim {

// f(s), in double arithmetic ordered as the Python schedules order it, so that equal inputs give equal bits.
using LrFactor = std::function<double(int64_t step)>;

struct ScheduleInputs {
  int64_t num_training_steps;  // N
  double lr;                   // the optimizer's own lr, not a group's
};

// A configuration that can make its factor. `note` receives the one line worth logging, or stays empty.
struct ScheduleConfig : SchedulerConfig {
  // Throws UsageError when the schedule is impossible with these inputs.
  virtual LrFactor factor(const ScheduleInputs& inputs, std::string& note) const = 0;
};

// The schedules of diffusers' get_scheduler by name, with its defaults (power 1, one cycle, final lr 1e-7):
// cosine, linear, cosine_with_restarts, polynomial, constant, constant_with_warmup.
struct DiffuserSchedulerConfig final : ScheduleConfig {
  std::optional<int64_t> num_warmup_steps;  // required by every name but "constant"
  std::string name = "cosine";

  std::string type() const override { return "diffuser"; }
  std::unique_ptr<SchedulerConfig> clone() const override { return std::make_unique<DiffuserSchedulerConfig>(*this); }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  LrFactor factor(const ScheduleInputs& inputs, std::string& note) const override;
};

// VQ-BeT's: constant while the first stage trains, then warm-up and cosine over the remaining steps.
struct VqbetSchedulerConfig final : ScheduleConfig {
  int64_t num_warmup_steps = 0;
  int64_t num_vqvae_training_steps = 0;
  double num_cycles = 0.5;

  std::string type() const override { return "vqbet"; }
  std::unique_ptr<SchedulerConfig> clone() const override { return std::make_unique<VqbetSchedulerConfig>(*this); }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  LrFactor factor(const ScheduleInputs& inputs, std::string& note) const override;
};

// s/max(1, W), then 1.
struct ConstantWithWarmupSchedulerConfig final : ScheduleConfig {
  int64_t num_warmup_steps = 1000;

  std::string type() const override { return "constant_with_warmup"; }
  std::unique_ptr<SchedulerConfig> clone() const override {
    return std::make_unique<ConstantWithWarmupSchedulerConfig>(*this);
  }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  LrFactor factor(const ScheduleInputs& inputs, std::string& note) const override;
};

// s/max(1, W), then max(0, (1 + cos(pi (s-W)/max(1, N-W))) / 2).
struct CosineAnnealingWithWarmupSchedulerConfig final : ScheduleConfig {
  int64_t num_warmup_steps = 0;

  std::string type() const override { return "cosine_annealing_with_warmup"; }
  std::unique_ptr<SchedulerConfig> clone() const override {
    return std::make_unique<CosineAnnealingWithWarmupSchedulerConfig>(*this);
  }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  LrFactor factor(const ScheduleInputs& inputs, std::string& note) const override;
};

// Linear from 1/(W+1) to 1 over W steps, then a cosine from 1 (at s = 0) to decay_lr/peak_lr at s = D, and flat after.
// Both lengths shrink in proportion when N < D. peak_lr enters only through that ratio.
struct CosineDecayWithWarmupSchedulerConfig final : ScheduleConfig {
  int64_t num_warmup_steps = 0;  // W
  int64_t num_decay_steps = 0;   // D
  double peak_lr = 0.0;
  double decay_lr = 0.0;

  std::string type() const override { return "cosine_decay_with_warmup"; }
  std::unique_ptr<SchedulerConfig> clone() const override {
    return std::make_unique<CosineDecayWithWarmupSchedulerConfig>(*this);
  }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  LrFactor factor(const ScheduleInputs& inputs, std::string& note) const override;
};

// The types of --scheduler.type.
config::ChoiceRegistry<SchedulerConfig> register_schedulers();

}  // namespace lerobot::optim
