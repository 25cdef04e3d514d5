// What lerobot-eval needs of an environment: gymnasium's reset, step and render, over plain values. Native environments
// and environments behind a bridge look the same from here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lerobot/env/observation.hpp"

namespace lerobot::env {

struct EnvironmentMetadata {
  std::string id;                            // "gym_pusht/PushT-v0"
  double render_fps = 0.0;                   // frames a second of a video of render() after every step
  std::optional<int64_t> max_episode_steps;  // absent: episodes are never truncated
  int64_t action_dim = 0;                    // numbers in an action
  std::string task;  // what to do, in words, for policies that read it; "" when there is no text
};

struct ResetOptions {
  bool new_rollout = false;  // a rollout starts here (LeRobot's option "lerobot_new_rollout"), as against an auto-reset
};

struct ResetResult {
  Observation observation;
  Info info;
};

struct StepResult {
  Observation observation;
  double reward = 0.0;
  bool terminated = false;  // the task ended: solved or failed
  bool truncated = false;   // time is up
  Info info;
};

// One environment. Not thread-safe; different environments may run in different threads.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual const EnvironmentMetadata& metadata() const = 0;

  // Starts an episode. With a seed the environment's random stream starts anew; without one it goes on (at first from
  // the system's entropy).
  virtual ResetResult reset(std::optional<uint64_t> seed, const ResetOptions& options = {}) = 0;

  // One step of the control period with action_dim numbers. Actions are not clipped. Throws std::logic_error before the
  // first reset, RunError for an action that the environment cannot follow.
  virtual StepResult step(std::span<const double> action) = 0;

  // A picture of the present state, for people. Throws std::logic_error before the first reset.
  virtual Image render() = 0;
};

}  // namespace lerobot::env
