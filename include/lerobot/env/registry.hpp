// From an environment's configuration to environments.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lerobot/config/env_config.hpp"
#include "lerobot/env/environment.hpp"

namespace lerobot::env {

// `count` environments of --env.type. Those that run in Python get a process each with `use_async`, and share one
// otherwise. A new type of environment is one line here. Throws UsageError when the configuration names what this
// machine does not have (a Python, a package, an environment).
std::vector<std::unique_ptr<Environment>> make_environments(const EnvConfig& config, int64_t count, bool use_async);

// How many of them to step side by side: without `use_async` one after the other; otherwise all that have a process of
// their own, and of native ones as many as there are cores.
int64_t thread_count(const EnvConfig& config, int64_t count, bool use_async);

}  // namespace lerobot::env
