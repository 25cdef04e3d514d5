#include "eval/scripted_environment.hpp"

#include <torch/csrc/autograd/generated/variable_factories.h>

#include <array>
#include <utility>

namespace lerobot::eval {

ScriptedEnvironment::ScriptedEnvironment(std::vector<ScriptedStep> script, std::optional<int64_t> max_episode_steps,
                                         std::string task, int64_t side)
    : metadata_{.id = "scripted",
                .render_fps = 10.0,
                .max_episode_steps = max_episode_steps,
                .action_dim = 1,
                .task = std::move(task)},
      script_(std::move(script)),
      side_(side) {}

env::ResetResult ScriptedEnvironment::reset(std::optional<uint64_t> seed, const env::ResetOptions& options) {
  resets.push_back({seed, options.new_rollout});
  steps_ = 0;
  return {observation(), {}};
}

env::StepResult ScriptedEnvironment::step(std::span<const double> action) {
  actions.push_back(action[0]);
  const auto index = static_cast<size_t>(steps_++);
  const ScriptedStep step = index < script_.size() ? script_[index] : ScriptedStep{};
  env::StepResult result{.observation = observation(), .reward = step.reward, .terminated = step.terminated};
  result.truncated = metadata_.max_episode_steps && steps_ >= *metadata_.max_episode_steps;
  result.info.is_success = step.is_success;
  return result;
}

env::Image ScriptedEnvironment::render() {
  ++renders;
  const auto brightness = static_cast<uint8_t>(20 * steps_);
  return {side_, side_, std::vector<uint8_t>(static_cast<size_t>(3 * side_ * side_), brightness)};
}

env::Observation ScriptedEnvironment::observation() const {
  env::Observation observation;
  observation.emplace("agent_pos", env::Array::of(std::array{static_cast<double>(steps_)}));
  return observation;
}

std::shared_ptr<env::VectorEnv> scripted_environments(const std::vector<Script>& scripts,
                                                      std::optional<int64_t> max_episode_steps, int64_t side) {
  std::vector<std::unique_ptr<env::Environment>> environments;
  for (size_t i = 0; i < scripts.size(); ++i) {
    environments.push_back(
        std::make_unique<ScriptedEnvironment>(scripts[i], max_episode_steps, "task " + std::to_string(i), side));
  }
  return std::make_shared<env::VectorEnv>(std::move(environments));
}

ScriptedEnvironment& scripted(env::VectorEnv& environments, int64_t index) {
  return dynamic_cast<ScriptedEnvironment&>(environments.environment(index));
}

void CountingActor::reset() {
  ++resets;
  calls_ = 0;
}

torch::Tensor CountingActor::act(Batch observations, const std::string&) {
  seen.push_back(std::move(observations));
  return torch::full({batch_size_, action_dim_}, static_cast<double>(calls_++), torch::kFloat32);
}

}  // namespace lerobot::eval
