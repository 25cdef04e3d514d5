#include "lerobot/policy/registry.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"
#include "lerobot/policy/act/act_policy.hpp"

namespace lerobot::policy {
namespace {

template <class ConcreteConfig, class ConcretePolicy>
PolicyEntry entry() {
  return {
      .make_config = [] { return std::make_unique<ConcreteConfig>(); },
      .make_policy = [](std::unique_ptr<PolicyConfig> config) -> std::shared_ptr<Policy> {
        return std::make_shared<ConcretePolicy>(std::move(dynamic_cast<ConcreteConfig&>(*config)));
      },
  };
}

}  // namespace

PolicyRegistry register_policies() {
  return {
      {"act", entry<ACTConfig, ACTPolicy>()},
  };
}

std::shared_ptr<Policy> make_policy(const PolicyRegistry& registry, std::unique_ptr<PolicyConfig> config) {
  const std::string type = config->type();
  const auto found = registry.find(type);
  if (found == registry.end()) {
    std::vector<std::string> known;
    for (const auto& [name, _] : registry) known.push_back(name);
    throw UsageError(fmt::format("--policy.type: `{}` is not here; accepted: {}", type, join(known, ", ")));
  }
  return found->second.make_policy(std::move(config));
}

}  // namespace lerobot::policy
