#include "lerobot/env/registry.hpp"

#include <algorithm>
#include <thread>

#include "lerobot/env/gym_environment.hpp"
#include "lerobot/env/pusht.hpp"

namespace lerobot::env {
namespace {

// Null when PushT is to run in Python, and for every other type.
const PushtEnvConfig* native_pusht(const EnvConfig& config) {
  const auto* const pusht = dynamic_cast<const PushtEnvConfig*>(&config);
  return pusht != nullptr && pusht->backend == "native" ? pusht : nullptr;
}

std::vector<std::unique_ptr<Environment>> make_pusht(const PushtEnvConfig& config, int64_t count) {
  PushTOptions options;
  options.obs_type = parse_pusht_obs_type(config.obs_type);
  options.visualization_width = config.visualization_width;
  options.visualization_height = config.visualization_height;
  options.max_episode_steps = config.episode_length;
  std::vector<std::unique_ptr<Environment>> environments;
  for (int64_t i = 0; i < count; ++i) environments.push_back(std::make_unique<PushT>(options));
  return environments;
}

std::vector<std::unique_ptr<Environment>> make_gym(const EnvConfig& config, int64_t count, bool one_process_each) {
  GymOptions options;
  options.gym_id = config.gym_id();
  options.imports = config.imports();
  options.kwargs = config.gym_kwargs();
  options.max_episode_steps = config.max_episode_steps();
  options.disable_env_checker = config.disable_env_checker;
  options.python = config.python.value_or("");
  std::vector<std::unique_ptr<Environment>> environments;
  for (auto& environment : make_gym_environments(options, count, one_process_each)) {
    environments.push_back(std::move(environment));
  }
  return environments;
}

}  // namespace

std::vector<std::unique_ptr<Environment>> make_environments(const EnvConfig& config, int64_t count, bool use_async) {
  if (const PushtEnvConfig* const pusht = native_pusht(config)) return make_pusht(*pusht, count);
  return make_gym(config, count, use_async && count > 1);
}

int64_t thread_count(const EnvConfig& config, int64_t count, bool use_async) {
  if (!use_async) return 1;
  if (native_pusht(config) == nullptr) return count;
  return std::min(count, static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency())));
}

}  // namespace lerobot::env
