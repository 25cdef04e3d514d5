// Environments in lock-step, as gymnasium 1.4's vector environments with AutoresetMode.SAME_STEP run them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lerobot/env/environment.hpp"

namespace lerobot::env {

class WorkerTeam;

// How an episode ended, for an environment that was reset within the same step.
struct FinalStep {
  Observation observation;
  Info info;
};

// Index = environment.
struct VectorReset {
  std::vector<Observation> observations;
  std::vector<Info> infos;
};

// Where an environment ended its episode, observation and info are those of the reset that followed (without a seed),
// while reward, terminated and truncated are those of the step that ended it.
struct VectorStep {
  std::vector<Observation> observations;
  std::vector<double> rewards;
  std::vector<bool> terminated;
  std::vector<bool> truncated;
  std::vector<Info> infos;
  std::vector<std::optional<FinalStep>> finals;

  // LeRobot's reading of success. On a step where any environment ends its episode, only final infos count and all
  // other environments are false; on other steps the plain infos count. An info that does not say counts as false.
  std::vector<bool> successes() const;
};

// Not thread-safe itself.
class VectorEnv {
 public:
  // At least one environment, all with the same number of action elements (UsageError otherwise). `threads`
  // environments are stepped side by side; 1: one after the other in the calling thread.
  explicit VectorEnv(std::vector<std::unique_ptr<Environment>> environments, int64_t threads = 1);
  ~VectorEnv();

  int64_t size() const;                         // B
  const EnvironmentMetadata& metadata() const;  // the first environment's
  Environment& environment(int64_t index);

  // `seeds`: one for each environment, or none to let the random streams go on.
  VectorReset reset(std::span<const uint64_t> seeds = {}, const ResetOptions& options = {});

  // `actions`: [B, action_dim] in C order. What an environment throws comes out with its index in front; of several the
  // lowest index's.
  VectorStep step(std::span<const double> actions);

  // Pictures of the first `count` environments.
  std::vector<Image> render(int64_t count);

 private:
  template <typename Work>
  void for_each_environment(int64_t count, const Work& work);

  std::vector<std::unique_ptr<Environment>> environments_;
  std::unique_ptr<WorkerTeam> team_;
};

}  // namespace lerobot::env
