// The two progress bars of an evaluation: batches of episodes, and steps of the batch under way.
//   Stepping through eval batches:  33%|███       | 1/3 [00:02<00:04,  2.01s/it, running_success_rate=50.0%]
//   Running rollout with at most 300 steps:   4%|          | 12/300 [00:00<00:08, 33.92it/s, running_success_rate=0.0%]
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "lerobot/eval/rollout.hpp"

namespace lerobot::eval {

// The first `columns` characters (UTF-8 code points).
std::string first_columns(const std::string& text, size_t columns);

// Drawn on the last two lines of stderr when it is a terminal and SLURM_JOB_ID is not set; otherwise every call does
// nothing. While it lives, log lines are written above. The lower bar goes when its rollout is over.
class EvalProgress {
 public:
  explicit EvalProgress(bool is_wanted);
  ~EvalProgress();
  EvalProgress(const EvalProgress&) = delete;
  EvalProgress& operator=(const EvalProgress&) = delete;

  void begin(int64_t batches);  // a task
  void step(const RolloutStep& step);
  void end_batch(double success_rate);  // of the task so far

 private:
  using Clock = std::chrono::steady_clock;

  struct Bar {
    std::string description = {};
    int64_t done = 0;
    int64_t total = 0;
    std::string postfix = {};
    Clock::time_point start = {};

    std::string text() const;
  };

  void draw();
  void clear();
  void leave();  // the upper bar stays on its line

  bool is_enabled_;
  std::mutex mutex_;
  Bar batches_;
  Bar steps_;  // total 0: no rollout
  Clock::time_point last_draw_;
};

}  // namespace lerobot::eval
