#include "lerobot/config/optimizer_config.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lerobot {

void OptimizerConfig::fields(config::Visitor& visit) {
  visit("lr", lr, "Learning rate");
  visit("weight_decay", weight_decay, "Weight decay");
  visit("grad_clip_norm", grad_clip_norm, "Largest norm of all gradients together; 0 leaves them as they are");
}

void OptimizerConfig::validate(config::Problems& problems) const {
  const auto check = [&](const char* field, double value) {
    if (!(value >= 0.0) || !std::isfinite(value)) {
      problems.add(field, fmt::format("must be a finite number that is not negative, got {}", value));
    }
  };
  check("lr", lr);
  check("weight_decay", weight_decay);
  if (std::isnan(grad_clip_norm)) problems.add("grad_clip_norm", "must be a number, got nan");
}

}  // namespace lerobot
