#include "lerobot/train/non_finite_guard.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot::train {
namespace {

constexpr size_t kFramesNamed = 16;
constexpr int64_t kStepsBetweenChecks = 500;

}  // namespace

void NonFiniteGuard::record(const torch::Tensor& found_inf) {
  monitor_.record(found_inf, run_.step);
}

bool NonFiniteGuard::is_check_due() const {
  return run_.step % kStepsBetweenChecks == 0;
}

void NonFiniteGuard::check() {
  const NonFiniteMonitor::Report report = monitor_.take();
  in_a_row_ = report.in_a_row;
  if (report.count == 0) return;
  count_ += report.count;
  if (run_.scaler) return run_.scaler->require_usable_scale();  // overflows are its business: the scale follows them
  const int64_t window = run_.config.accelerator.gradient_accumulation.steps;
  const auto rows = run_.rows_of_steps(report.first_step - window + 1, report.first_step);
  log::warning(fmt::format(
      "{} update{} left out because the loss or a gradient was infinite or NaN, the first at step {}; weights and "
      "optimizer state did not change there. Frames of that step: {}. Look for broken values there, or lower the "
      "learning rate.",
      report.count, report.count == 1 ? " was" : "s were", report.first_step,
      describe_frames(*run_.dataset, rows, kFramesNamed)));
}

void NonFiniteGuard::require_progress() const {
  const int64_t limit = run_.config.non_finite_limit;
  if (run_.scaler || limit == 0 || in_a_row_ < limit) return;
  throw RunError(fmt::format(
      "stopped at step {}: the last {} updates in a row had infinite or NaN losses or gradients, so training stands "
      "still. "
      "Checkpoints written before are good. Lower the learning rate or remove the frames named above; to go on "
      "regardless: --non_finite_limit=0",
      run_.step, in_a_row_));
}

std::string describe_frames(const dataset::LeRobotDataset& dataset, const std::vector<int64_t>& rows, size_t limit) {
  std::map<int64_t, std::vector<int64_t>> frames;  // by episode
  const auto& episodes = dataset.episodes();
  for (size_t i = 0; i < std::min(rows.size(), limit); ++i) {
    const auto after = std::ranges::upper_bound(episodes, rows[i], {}, &dataset::EpisodeRows::first_row);
    const dataset::EpisodeRows& episode = *std::prev(after);
    frames[episode.episode_index].push_back(rows[i] - episode.first_row);
  }
  std::vector<std::string> parts;
  for (auto& [episode, numbers] : frames) {
    std::ranges::sort(numbers);
    parts.push_back(fmt::format("episode {}: {}", episode, fmt::join(numbers, ", ")));
  }
  if (rows.size() > limit) parts.push_back(fmt::format("and {} more", rows.size() - limit));
  return join(parts, "; ");
}

}  // namespace lerobot::train
