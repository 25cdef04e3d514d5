#include "lerobot/eval/episode_score.hpp"

#include <cmath>

namespace lerobot::eval {

void EpisodeScore::add(double reward, bool success, bool ends, bool batch_ends) {
  if (is_complete_) return;
  sum_ += reward;
  raise_max(reward);
  success_ = success_ || success;

  const bool is_step_after_the_end = has_ended_;
  if (!has_ended_) {
    ++length_;
    has_ended_ = ends;
  }
  if (!has_ended_) return;
  if (rule_ == ScoreRule::kEpisodeOnly || batch_ends) {
    is_complete_ = true;
  } else if (is_step_after_the_end) {
    is_complete_ = true;
    raise_max(0.0);  // the steps that follow
  }
}

void EpisodeScore::raise_max(double reward) {
  if (has_max_ && (std::isnan(max_) || reward <= max_)) return;
  max_ = reward;
  has_max_ = true;
}

}  // namespace lerobot::eval
