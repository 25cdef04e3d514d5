// The types that lerobot-train offers.
#pragma once

#include "lerobot/config/train_config.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler_configs.hpp"
#include "lerobot/policy/registry.hpp"

namespace lerobot::fuzz {

inline Registries registries() {
  Registries registries;
  registries.policies = policy_choices(policy::register_policies());
  registries.optimizers = optim::register_optimizers();
  registries.schedulers = optim::register_schedulers();
  return registries;
}

}  // namespace lerobot::fuzz
