// An evaluation by LeRobot 0.6.1 (eval_policy_all) on gym_pusht 0.1.8: PushT-v0 with keypoints, 3 environments, 7
// episodes from seed 0, 60 steps at most, success from a coverage of 0.35 on so that some episodes end early, and a
// scripted policy whose actions were recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lerobot/core/json.hpp"
#include "lerobot/env/vector_env.hpp"
#include "lerobot/eval/actor.hpp"

namespace lerobot::eval {

constexpr int64_t kGoldenBatchSize = 3;
constexpr int64_t kGoldenBatches = 3;

// "actions" [batch][step][environment][2], "rewards" [batch][step][environment], "terminated" and "truncated"
// [batch][environment][...]: the steps at which that was so, "per_episode", "overall", "video_frames" [9].
const Json& golden_evaluation();

// The same environments, native.
std::shared_ptr<env::VectorEnv> golden_environments();

// Gives the recorded actions, whatever it sees. Keeps the first observations of every rollout.
class RecordedActor final : public Actor {
 public:
  void reset() override;
  torch::Tensor act(Batch observations, const std::string& environment) override;

  std::vector<Batch> first_observations;

 private:
  int64_t batch_ = -1;
  int64_t step_ = 0;
};

}  // namespace lerobot::eval
