#include "lerobot/optim/optimizer_configs.hpp"

#include <fmt/format.h>

namespace lerobot::optim {

void AdamFamilyConfig::fields(config::Visitor& visit) {
  OptimizerConfig::fields(visit);
  visit("betas", betas, "Decay rates of the running averages of the gradient and of its square, both in [0, 1)");
  visit("eps", eps, "Added to the denominator of the update, >= 0");
}

void AdamFamilyConfig::validate(config::Problems& problems) const {
  OptimizerConfig::validate(problems);
  for (size_t i = 0; i < betas.size(); ++i) {
    if (!(betas[i] >= 0.0 && betas[i] < 1.0))
      problems.add("betas", fmt::format("item {} must be at least 0 and below 1, got {}", i, betas[i]));
  }
  if (!(eps >= 0.0)) problems.add("eps", fmt::format("must be at least 0, got {}", eps));
}

void SGDConfig::fields(config::Visitor& visit) {
  OptimizerConfig::fields(visit);
  visit("momentum", momentum, "Decay rate of the running sum of gradients, >= 0; 0 keeps none");
  visit("dampening", dampening, "The gradient enters the running sum multiplied by 1 - dampening");
  visit("nesterov", nesterov, "Nesterov momentum; needs momentum > 0 and dampening 0");
}

void SGDConfig::validate(config::Problems& problems) const {
  OptimizerConfig::validate(problems);
  if (!(momentum >= 0.0)) problems.add("momentum", fmt::format("must be at least 0, got {}", momentum));
  if (nesterov && (momentum <= 0.0 || dampening != 0.0)) {
    problems.add("nesterov", fmt::format("needs momentum above 0 and dampening 0, got momentum {} and dampening {}",
                                         momentum, dampening));
  }
}

config::ChoiceRegistry<OptimizerConfig> register_optimizers() {
  config::ChoiceRegistry<OptimizerConfig> registry;
  registry.add("adam", [] { return std::make_unique<AdamConfig>(); })
      .add("adamw", [] { return std::make_unique<AdamWConfig>(); })
      .add("sgd", [] { return std::make_unique<SGDConfig>(); })
      .not_here({"xvla-adamw", "multi_adam", "molmoact2_adamw"})
      .default_type("adam");
  return registry;
}

}  // namespace lerobot::optim
