// The policies that are here. A new policy is one folder and one line in register_policies().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lerobot/policy/policy.hpp"

namespace lerobot::policy {

struct PolicyEntry {
  std::function<std::unique_ptr<PolicyConfig>()> make_config;                                // defaults
  std::function<std::shared_ptr<Policy>(std::unique_ptr<PolicyConfig> config)> make_policy;  // fresh weights
};

using PolicyRegistry = std::map<std::string, PolicyEntry>;

PolicyRegistry register_policies();

// Builds the policy of config->type() with freshly drawn weights on the CPU.
std::shared_ptr<Policy> make_policy(const PolicyRegistry& registry, std::unique_ptr<PolicyConfig> config);

}  // namespace lerobot::policy
