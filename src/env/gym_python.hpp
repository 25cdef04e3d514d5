// Which Python runs the environments, and in what surroundings.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lerobot::env {

// This process's variables with what environments need (pictures without a display, one thread a worker) and `extra` on
// top, as NAME=value.
std::vector<std::string> gym_worker_environment(const std::map<std::string, std::string>& extra);

// The worker's program, lerobot_env_worker.py.
std::string_view gym_worker_script();

}  // namespace lerobot::env
