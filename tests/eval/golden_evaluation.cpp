#include "eval/golden_evaluation.hpp"

#include <torch/csrc/autograd/generated/variable_factories.h>

#include <filesystem>

#include "lerobot/env/pusht.hpp"

namespace lerobot::eval {

const Json& golden_evaluation() {
  static const Json golden = read_json(std::filesystem::path(LEROBOT_TEST_DATA) / "eval" / "pusht_eval.json");
  return golden;
}

std::shared_ptr<env::VectorEnv> golden_environments() {
  std::vector<std::unique_ptr<env::Environment>> environments;
  for (int64_t i = 0; i < kGoldenBatchSize; ++i) {
    environments.push_back(std::make_unique<env::PushT>(
        env::PushTOptions{.obs_type = env::PushTObsType::kEnvironmentStateAgentPos,
                          .visualization_width = 384,
                          .visualization_height = 384,
                          .success_threshold = golden_evaluation()["config"]["success_threshold"].get<double>(),
                          .max_episode_steps = golden_evaluation()["config"]["episode_length"].get<int64_t>()}));
  }
  return std::make_shared<env::VectorEnv>(std::move(environments));
}

void RecordedActor::reset() {
  ++batch_;
  step_ = 0;
}

torch::Tensor RecordedActor::act(Batch observations, const std::string&) {
  const auto actions = golden_evaluation()["actions"].at(batch_).at(step_).get<std::vector<std::vector<float>>>();
  if (step_++ == 0) first_observations.push_back(std::move(observations));
  std::vector<torch::Tensor> rows;
  for (const auto& action : actions) rows.push_back(torch::tensor(action));
  return torch::stack(rows);
}

}  // namespace lerobot::eval
