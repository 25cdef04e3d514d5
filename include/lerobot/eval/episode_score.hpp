// The score of one episode, by LeRobot's rules (scripts/lerobot_eval.py).
#pragma once

#include <cstdint>

namespace lerobot::eval {

// Where an episode ends for its score. With d the index of the step that ends it:
enum class ScoreRule {
  // Steps 0 to d + 1, as LeRobot counts them: in an environment that ends before its batch does, the first step of the
  // episode that follows its auto-reset belongs to the score. Steps after that count as reward 0 for the maximum.
  kLeRobot,
  kEpisodeOnly,  // steps 0 to d
};

// Fed with the steps of one environment from the beginning of a rollout.
class EpisodeScore {
 public:
  explicit EpisodeScore(ScoreRule rule) : rule_(rule) {}

  // One step. `ends`: the episode ended with it or before; `batch_ends`: no step follows in this rollout. Does nothing
  // once the score is complete.
  void add(double reward, bool success, bool ends, bool batch_ends);

  bool has_ended() const { return has_ended_; }      // step d was seen
  bool is_complete() const { return is_complete_; }  // and every step that counts

  double sum_reward() const { return sum_; }
  double max_reward() const { return max_; }  // NaN when a reward is
  bool success() const { return success_; }   // on any step that counts
  int64_t length() const { return length_; }  // d + 1

 private:
  void raise_max(double reward);

  ScoreRule rule_;
  double sum_ = 0.0;
  double max_ = 0.0;
  bool success_ = false;
  int64_t length_ = 0;
  bool has_max_ = false;
  bool has_ended_ = false;
  bool is_complete_ = false;
};

}  // namespace lerobot::eval
