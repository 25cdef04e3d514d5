#include "lerobot/eval/rollout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "lerobot/core/error.hpp"
#include "lerobot/eval/observation_batch.hpp"

namespace lerobot::eval {
namespace {

bool all(const std::vector<bool>& flags) {
  return std::all_of(flags.begin(), flags.end(), [](bool flag) { return flag; });
}

int64_t step_limit(const env::EnvironmentMetadata& environment) {
  if (environment.max_episode_steps.value_or(0) >= 1) return *environment.max_episode_steps;
  throw UsageError(
      fmt::format("the environment {} sets no limit to the steps of an episode, so that an evaluation "
                  "might never end; set one with --env.episode_length",
                  environment.id));
}

std::vector<std::string> task_sentences(env::VectorEnv& environments) {
  std::vector<std::string> tasks;
  for (int64_t i = 0; i < environments.size(); ++i) tasks.push_back(environments.environment(i).metadata().task);
  return tasks;
}

// As the environments take them: float64, in C order.
torch::Tensor checked_actions(torch::Tensor actions, const env::VectorEnv& environments) {
  const int64_t wanted = environments.metadata().action_dim;
  if (actions.dim() != 2 || actions.size(0) != environments.size() || actions.size(1) != wanted) {
    throw UsageError(fmt::format("{} environments {} take actions of shape [{}, {}], the policy gives {}",
                                 environments.size(), environments.metadata().id, environments.size(), wanted,
                                 c10::str(actions.sizes())));
  }
  return actions.to(torch::kCPU, torch::kFloat64).contiguous();
}

// The part of a rollout that grows from step to step.
class Scoring {
 public:
  Scoring(const RolloutOptions& options, int64_t batch_size)
      : options_(options),
        ended_(static_cast<size_t>(batch_size)),
        succeeded_(ended_.size()),
        scores_(options.wanted > 0 ? std::min(static_cast<size_t>(options.wanted), ended_.size()) : ended_.size(),
                EpisodeScore(options.score_rule)) {}

  void add(const env::VectorStep& step, bool is_last) {
    const std::vector<bool> successes = step.successes();
    for (size_t i = 0; i < ended_.size(); ++i) {
      ended_[i] = ended_[i] || step.terminated[i] || step.truncated[i] || is_last;
      succeeded_[i] = succeeded_[i] || successes[i];
    }
    const bool batch_ends = all(ended_);
    for (size_t i = 0; i < scores_.size(); ++i) {
      if (scores_[i].is_complete()) continue;
      scores_[i].add(step.rewards[i], successes[i], ended_[i], batch_ends);
      if (scores_[i].is_complete() && options_.on_episode) options_.on_episode(static_cast<int64_t>(i), scores_[i]);
    }
  }

  const std::vector<bool>& ended() const { return ended_; }
  bool is_complete() const {
    return std::all_of(scores_.begin(), scores_.end(), [](const EpisodeScore& score) { return score.is_complete(); });
  }
  double running_success_rate() const {
    const auto count = std::count(succeeded_.begin(), succeeded_.end(), true);
    return static_cast<double>(count) / static_cast<double>(succeeded_.size());
  }
  std::vector<EpisodeScore> take() { return std::move(scores_); }

 private:
  const RolloutOptions& options_;
  std::vector<bool> ended_;
  std::vector<bool> succeeded_;  // on any step so far, those after the end included: for the progress bar
  std::vector<EpisodeScore> scores_;
};

}  // namespace

std::vector<EpisodeScore> rollout(env::VectorEnv& environments, Actor& actor, std::span<const uint64_t> seeds,
                                  const RolloutOptions& options) {
  const int64_t max_steps = step_limit(environments.metadata());
  Scoring scoring(options, environments.size());
  actor.reset();
  std::vector<env::Observation> observations = environments.reset(seeds, {.new_rollout = true}).observations;
  const std::vector<std::string> tasks = task_sentences(environments);
  if (options.on_frame) options.on_frame(scoring.ended());

  for (int64_t index = 0; !scoring.is_complete(); ++index) {
    if (options.check) options.check();
    const torch::Tensor actions =
        checked_actions(actor.act(observation_batch(observations, tasks), environments.metadata().id), environments);
    env::VectorStep step = environments.step({actions.const_data_ptr<double>(), static_cast<size_t>(actions.numel())});
    scoring.add(step, /*is_last=*/index + 1 == max_steps);
    if (options.on_frame) options.on_frame(scoring.ended());
    if (options.on_step) options.on_step({index, max_steps, scoring.running_success_rate()});
    observations = std::move(step.observations);
  }
  return scoring.take();
}

}  // namespace lerobot::eval
