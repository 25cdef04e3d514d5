// Bases of the optimizer and scheduler configurations; the concrete ones live in optim/ and are registered there.
#pragma once

#include <memory>
#include <string>

#include "lerobot/config/schema.hpp"

namespace lerobot {

// LeRobot: optim/optimizers.py. File order: type, lr, weight_decay, grad_clip_norm, then the type's own fields.
struct OptimizerConfig : config::Section {
  double lr = 1e-3;
  double weight_decay = 0.0;
  double grad_clip_norm = 10.0;  // <= 0: no clipping

  virtual std::string type() const = 0;  // "adamw"
  virtual std::unique_ptr<OptimizerConfig> clone() const = 0;
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

// LeRobot: optim/schedulers.py.
struct SchedulerConfig : config::Section {
  virtual std::string type() const = 0;  // "cosine_decay_with_warmup"
  virtual std::unique_ptr<SchedulerConfig> clone() const = 0;
};

}  // namespace lerobot
