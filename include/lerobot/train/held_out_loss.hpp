// The loss on episodes that are kept back from training (--dataset.eval_split, --eval_steps, --max_eval_samples).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lerobot/train/training_run.hpp"

namespace lerobot::train {

// Refers to the run, which has an eval_dataset: it must outlive this.
class HeldOutLoss {
 public:
  explicit HeldOutLoss(TrainingRun& run);

  bool is_due() const;  // every eval_steps steps

  // The mean over the batches' losses, in evaluation mode and without augmentation, as LeRobot takes it. Training goes
  // on afterwards as if nothing had happened: mode and random states are put back. Nothing when a stop was requested
  // meanwhile.
  std::optional<double> measure();

 private:
  TrainingRun& run_;
  std::vector<int64_t> rows_;
};

// The first max(1, max_samples / tasks) rows of each task, task by task; all rows in order for max_samples 0 (LeRobot's
// rule).
std::vector<int64_t> choose_eval_rows(std::span<const int64_t> task_indices, int64_t max_samples);

}  // namespace lerobot::train
