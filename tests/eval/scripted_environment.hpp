// An environment whose rewards and ends are written down.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/env/environment.hpp"
#include "lerobot/env/vector_env.hpp"
#include "lerobot/eval/actor.hpp"

namespace lerobot::eval {

struct ScriptedStep {
  double reward = 0.0;
  bool is_success = false;
  bool terminated = false;
};

// Plays `script` from its beginning after each reset; then steps of reward 0. Observes {"agent_pos": [steps since the
// reset]}. Renders a picture of `side` x `side`, as bright as steps were taken since the reset.
class ScriptedEnvironment final : public env::Environment {
 public:
  struct Reset {
    std::optional<uint64_t> seed;
    bool new_rollout = false;

    bool operator==(const Reset&) const = default;
  };

  ScriptedEnvironment(std::vector<ScriptedStep> script, std::optional<int64_t> max_episode_steps = 10,
                      std::string task = "", int64_t side = 16);

  const env::EnvironmentMetadata& metadata() const override { return metadata_; }
  env::ResetResult reset(std::optional<uint64_t> seed, const env::ResetOptions& options) override;
  env::StepResult step(std::span<const double> action) override;
  env::Image render() override;

  std::vector<Reset> resets;
  std::vector<double> actions;  // first number of each
  int64_t renders = 0;

 private:
  env::Observation observation() const;

  env::EnvironmentMetadata metadata_;
  std::vector<ScriptedStep> script_;
  int64_t side_;
  int64_t steps_ = 0;
};

using Script = std::vector<ScriptedStep>;
std::shared_ptr<env::VectorEnv> scripted_environments(const std::vector<Script>& scripts,
                                                      std::optional<int64_t> max_episode_steps = 10, int64_t side = 16);
ScriptedEnvironment& scripted(env::VectorEnv& environments, int64_t index);

// Acts with the number of its calls since reset(), for `batch_size` environments of one number.
class CountingActor final : public Actor {
 public:
  explicit CountingActor(int64_t batch_size, int64_t action_dim = 1)
      : batch_size_(batch_size), action_dim_(action_dim) {}
  void reset() override;
  torch::Tensor act(Batch observations, const std::string& environment) override;

  std::vector<Batch> seen;
  int64_t resets = 0;

 private:
  int64_t batch_size_;
  int64_t action_dim_;
  int64_t calls_ = 0;
};

}  // namespace lerobot::eval
