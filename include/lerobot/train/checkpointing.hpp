// When a run saves, what it puts into a checkpoint, and how it goes on from one.
#pragma once

#include "lerobot/checkpoint/checkpoint.hpp"
#include "lerobot/checkpoint/training_state.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/train/training_run.hpp"

namespace lerobot::train {

// Refers to the run: it must outlive this.
class CheckpointKeeper {
 public:
  CheckpointKeeper(FileSystem& files, TrainingRun& run);

  // Takes optimizer, scheduler, random states and step from a checkpoint's training state (weights and processors came
  // with set_up) and says where the data order stands. Throws UsageError naming the file that does not fit.
  DataProgress restore(const checkpoint::TrainingState& state);

  // LeRobot's rule: every save_freq steps and after the last one, unless save_checkpoint is off.
  bool is_due() const;

  // Writes checkpoints/<step> and points checkpoints/last at it.
  void save();

 private:
  checkpoint::CheckpointContent content() const;

  FileSystem& files_;
  TrainingRun& run_;
  TensorMap rng_;  // Python's and numpy's random states, which training carries along unchanged
};

}  // namespace lerobot::train
