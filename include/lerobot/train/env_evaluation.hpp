// Rollouts in the simulation while training (--env.*, --env_eval_freq, --eval.*).
#pragma once

#include <memory>
#include <optional>

#include "lerobot/core/file_system.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/train/training_run.hpp"

namespace lerobot::train {

// Refers to the run, whose config has an env: it must outlive this.
class EnvEvaluation {
 public:
  EnvEvaluation(FileSystem& files, TrainingRun& run);

  bool is_due() const;  // every env_eval_freq steps

  // One step in one environment: what cannot work is known before the first training step. Throws UsageError or
  // RunError as eval::rollout does, and signals::Stopped. Leaves no trace in the run.
  void try_out();

  // Evaluates the policy as it is now, with the averaged weights if there are some and --ema.use_for_eval says so.
  // Films up to four episodes into <output_dir>/eval/videos_step_<step>. Weights, mode and random states are put back.
  // Returns what metrics.jsonl is to hold of it; nothing when a stop was requested meanwhile, or when it failed, which
  // is said and does not end the training.
  std::optional<Json> run_now();

 private:
  FileSystem& files_;
  TrainingRun& run_;
  std::optional<double> best_success_;
};

}  // namespace lerobot::train
