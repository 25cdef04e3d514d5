#include "lerobot/optim/scheduler_configs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lerobot/core/text.hpp"

namespace lerobot::optim {
namespace {

constexpr const char* kWarmupHelp = "Steps over which the learning rate rises";

void require_not_negative(config::Problems& problems, const char* field, int64_t value) {
  if (value < 0) problems.add(field, fmt::format("must be at least 0, got {}", value));
}

const std::vector<std::string>& diffuser_names() {
  static const std::vector<std::string> names = {"cosine",     "linear",   "cosine_with_restarts",
                                                 "polynomial", "constant", "constant_with_warmup"};
  return names;
}

}  // namespace

void DiffuserSchedulerConfig::fields(config::Visitor& visit) {
  visit("num_warmup_steps", num_warmup_steps, kWarmupHelp);
  visit("name", name, "Shape of the schedule: " + join(diffuser_names(), ", "));
}

void DiffuserSchedulerConfig::validate(config::Problems& problems) const {
  const auto& names = diffuser_names();
  if (name == "piecewise_constant") {
    problems.add("name",
                 "`piecewise_constant` needs step rules, which no field can give; accepted: " + join(names, ", "));
  } else if (std::find(names.begin(), names.end(), name) == names.end()) {
    problems.add("name",
                 fmt::format("must be one of {}, got `{}`.{}", join(names, ", "), name, did_you_mean(name, names)));
  } else if (!num_warmup_steps && name != "constant") {
    problems.add("num_warmup_steps", fmt::format("must be given for the schedule `{}`, got null", name));
  }
  if (num_warmup_steps) require_not_negative(problems, "num_warmup_steps", *num_warmup_steps);
}

void VqbetSchedulerConfig::fields(config::Visitor& visit) {
  visit("num_warmup_steps", num_warmup_steps, kWarmupHelp, {.required = true});
  visit("num_vqvae_training_steps", num_vqvae_training_steps, "Steps of the first stage, at a constant rate",
        {.required = true});
  visit("num_cycles", num_cycles, "Cosine cycles after the warm-up; 0.5 falls to 0 once");
}

void VqbetSchedulerConfig::validate(config::Problems& problems) const {
  require_not_negative(problems, "num_warmup_steps", num_warmup_steps);
  require_not_negative(problems, "num_vqvae_training_steps", num_vqvae_training_steps);
}

void ConstantWithWarmupSchedulerConfig::fields(config::Visitor& visit) {
  visit("num_warmup_steps", num_warmup_steps, kWarmupHelp);
}

void ConstantWithWarmupSchedulerConfig::validate(config::Problems& problems) const {
  require_not_negative(problems, "num_warmup_steps", num_warmup_steps);
}

void CosineAnnealingWithWarmupSchedulerConfig::fields(config::Visitor& visit) {
  visit("num_warmup_steps", num_warmup_steps, kWarmupHelp, {.required = true});
}

void CosineAnnealingWithWarmupSchedulerConfig::validate(config::Problems& problems) const {
  require_not_negative(problems, "num_warmup_steps", num_warmup_steps);
}

void CosineDecayWithWarmupSchedulerConfig::fields(config::Visitor& visit) {
  visit("num_warmup_steps", num_warmup_steps, kWarmupHelp, {.required = true});
  visit("num_decay_steps", num_decay_steps, "Step at which the learning rate reaches its lowest", {.required = true});
  visit("peak_lr", peak_lr, "With decay_lr gives the lowest factor, decay_lr / peak_lr", {.required = true});
  visit("decay_lr", decay_lr, "With peak_lr gives the lowest factor, decay_lr / peak_lr", {.required = true});
}

void CosineDecayWithWarmupSchedulerConfig::validate(config::Problems& problems) const {
  require_not_negative(problems, "num_warmup_steps", num_warmup_steps);
  if (num_decay_steps < 1) problems.add("num_decay_steps", fmt::format("must be at least 1, got {}", num_decay_steps));
  if (!(peak_lr > 0.0)) problems.add("peak_lr", fmt::format("must be above 0, got {}", peak_lr));
  if (!(decay_lr >= 0.0)) problems.add("decay_lr", fmt::format("must be at least 0, got {}", decay_lr));
}

config::ChoiceRegistry<SchedulerConfig> register_schedulers() {
  config::ChoiceRegistry<SchedulerConfig> registry;
  registry.add("diffuser", [] { return std::make_unique<DiffuserSchedulerConfig>(); })
      .add("vqbet", [] { return std::make_unique<VqbetSchedulerConfig>(); })
      .add("constant_with_warmup", [] { return std::make_unique<ConstantWithWarmupSchedulerConfig>(); })
      .add("cosine_annealing_with_warmup", [] { return std::make_unique<CosineAnnealingWithWarmupSchedulerConfig>(); })
      .add("cosine_decay_with_warmup", [] { return std::make_unique<CosineDecayWithWarmupSchedulerConfig>(); })
      .not_here({"molmoact2_cosine_with_warmup"});
  return registry;
}

}  // namespace lerobot::optim
