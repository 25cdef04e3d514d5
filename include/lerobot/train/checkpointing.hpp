// When a run saves, what it puts into a checkpoint, and how it goes on from one.
#pragma once

#include <filesystem>

#include "lerobot/checkpoint/checkpoint.hpp"
#include "lerobot/checkpoint/checkpoint_writer.hpp"
#include "lerobot/checkpoint/training_state.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/train/training_run.hpp"

namespace lerobot::train {

// Refers to the run: it must outlive this.
class CheckpointKeeper {
 public:
  CheckpointKeeper(FileSystem& files, TrainingRun& run);

  // Takes optimizer, scheduler, average, open accumulation window, random states and step from a checkpoint's training
  // state (weights and processors came with set_up) and says where the data order stands. Throws UsageError naming the
  // file that does not fit.
  DataProgress restore(const checkpoint::TrainingState& state);

  // LeRobot's rule: every save_freq steps and after the last one, unless save_checkpoint is off.
  bool is_due() const;
  // SIGUSR1 asked for a save. One in a run with save_checkpoint=false is turned down.
  bool take_request() const;

  // Starts to write checkpoints/<step>, to which checkpoints/last points afterwards; waits for the save before. With
  // async_save training may go on at once. A save that fails is told by check().
  void save();
  bool is_saved() const { return saved_step_ == run_.step; }

  // Tells of a save that has failed since; the run goes on, and tries again when the next save is due.
  void check();
  // Waits until the last save is on disk. One that fails is tried again a few times, since no other would follow: a
  // minute to make room in. Throws RunError when it failed for good.
  void finish();

 private:
  checkpoint::CheckpointContent content() const;
  void restore_window(const checkpoint::TrainingState& state, std::string_view source);

  TrainingRun& run_;
  checkpoint::CheckpointWriter writer_;
  TensorMap rng_;  // Python's and numpy's random states, which training carries along unchanged
  int64_t saved_step_ = -1;
};

}  // namespace lerobot::train
