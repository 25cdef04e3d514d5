// What happens when updates are withheld because the loss or a gradient was not finite: it is said, and too many end
// the run.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lerobot/train/non_finite_monitor.hpp"
#include "lerobot/train/training_run.hpp"

namespace lerobot::train {

// Refers to the run: it must outlive this.
class NonFiniteGuard {
 public:
  explicit NonFiniteGuard(const TrainingRun& run) : run_(run) {}

  // After an update of the run's present step. Does not wait for the device.
  void record(const torch::Tensor& found_inf);

  // Now and then, where the run neither logs nor saves often enough for the limit to act.
  bool is_check_due() const;

  // Reads the device. Warns, with the frames of the first batch concerned, when updates were withheld since the last
  // call. In fp16, where overflows steer the loss scale, it only counts, and throws RunError when the scale has
  // collapsed.
  void check();

  // Throws RunError when, at the last check(), the last --non_finite_limit updates all had been withheld.
  void require_progress() const;

  // Withheld updates that check() has seen since the last call.
  int64_t take_count() { return std::exchange(count_, 0); }

 private:
  const TrainingRun& run_;
  NonFiniteMonitor monitor_;
  int64_t count_ = 0;
  int64_t in_a_row_ = 0;
};

// "episode 3: 17, 40; episode 5: 2": rows of a dataset as frames of their episodes, at most `limit` of them.
std::string describe_frames(const dataset::LeRobotDataset& dataset, const std::vector<int64_t>& rows, size_t limit);

}  // namespace lerobot::train
