// The optimizers a user can choose, with LeRobot's fields, defaults and file order (LeRobot: optim/optimizers.py).
#pragma once

#include <array>
#include <memory>
#include <string>

#include "lerobot/config/choice.hpp"
#include "lerobot/config/optimizer_config.hpp"

namespace lerobot::optim {

// What Adam and AdamW share: lr, weight_decay, grad_clip_norm, betas, eps.
struct AdamFamilyConfig : OptimizerConfig {
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;

  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

// Adam with L2 regularisation: the gradient becomes g + weight_decay * p.
struct AdamConfig : AdamFamilyConfig {
  std::string type() const override { return "adam"; }
  std::unique_ptr<OptimizerConfig> clone() const override { return std::make_unique<AdamConfig>(*this); }
};

// Adam with decoupled weight decay: p is first multiplied by 1 - lr * weight_decay.
struct AdamWConfig : AdamFamilyConfig {
  AdamWConfig() { weight_decay = 1e-2; }
  std::string type() const override { return "adamw"; }
  std::unique_ptr<OptimizerConfig> clone() const override { return std::make_unique<AdamWConfig>(*this); }
};

struct SGDConfig : OptimizerConfig {
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;

  std::string type() const override { return "sgd"; }
  std::unique_ptr<OptimizerConfig> clone() const override { return std::make_unique<SGDConfig>(*this); }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

// The types of --optimizer.type; "adam" is meant when only other --optimizer flags are given.
config::ChoiceRegistry<OptimizerConfig> register_optimizers();

}  // namespace lerobot::optim
