// One batch of environments, run until its episodes have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lerobot/env/vector_env.hpp"
#include "lerobot/eval/actor.hpp"
#include "lerobot/eval/episode_score.hpp"

namespace lerobot::eval {

// After a step: what the progress bar and the files ask for.
struct RolloutStep {
  int64_t index = 0;  // from 0
  int64_t max_steps = 0;
  double running_success_rate = 0.0;  // part of the environments with a success on any step so far
};

struct RolloutOptions {
  // Episodes of the first `wanted` environments count; the others run along, since a policy acts for the whole batch.
  // The rollout ends when those are complete. 0: all of them.
  int64_t wanted = 0;
  ScoreRule score_rule = ScoreRule::kLeRobot;

  std::function<void()> check;  // before every step; what it throws ends the rollout
  // After the reset and after every step; index = environment.
  std::function<void(const std::vector<bool>& ended)> on_frame;
  std::function<void(int64_t index, const EpisodeScore&)> on_episode;  // wanted ones, as each is complete
  std::function<void(const RolloutStep&)> on_step;
};

// Resets the actor and the environments (with `seeds`, one for each environment, or none) and runs them to their ends:
// an environment's episode ends when it is terminated or truncated, and all end at max_episode_steps of the first
// environment. Success is VectorStep::successes(). Returns the scores of the wanted environments.
//
// Throws UsageError when the environment has no max_episode_steps or the actions are not its actions in number; what
// actor, environments and callbacks throw passes through.
std::vector<EpisodeScore> rollout(env::VectorEnv& environments, Actor& actor, std::span<const uint64_t> seeds,
                                  const RolloutOptions& options = {});

}  // namespace lerobot::eval
