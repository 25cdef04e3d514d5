// Optimizer and scheduler configurations as goldens describe them: {"type": …, fields…}.
#pragma once

#include <memory>
#include <string>

#include "lerobot/config/choice.hpp"
#include "lerobot/config/schema.hpp"
#include "lerobot/core/json.hpp"

namespace lerobot::optim {

// The registry's configuration of that type with those fields. Throws UsageError for fields that it does not have.
template <class Base>
std::unique_ptr<Base> config_from_json(const config::ChoiceRegistry<Base>& registry, const Json& json) {
  auto config = registry.make(json.at("type").get<std::string>());
  Json fields = json;
  fields.erase("type");
  config::Problems problems;
  config::read_section(fields, *config, problems);
  problems.throw_if_any();
  return config;
}

}  // namespace lerobot::optim
