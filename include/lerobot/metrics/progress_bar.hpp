// A progress bar on the terminal's last line:
//   Training:  10%|█         | 10/100 [00:02<00:26,  3.43step/s]
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace lerobot::metrics {

// Drawn on stderr only when stderr is a terminal and SLURM_JOB_ID is not set; otherwise every call does nothing.
// While it lives, log lines are written above it.
class ProgressBar {
 public:
  ProgressBar(std::string description, int64_t total);
  ~ProgressBar();  // leaves the final bar on its line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance(int64_t count = 1);

  // The text of the bar after `done` of `total` in `seconds`, as tqdm writes it; what advance() draws. Below one a
  // second the speed is told in seconds for each. `postfix` stands at the end: "…  3.43it/s, success=50.0%]".
  static std::string render(const std::string& description, int64_t done, int64_t total, double seconds,
                            std::string_view unit = "step", std::string_view postfix = "");

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  std::mutex mutex_;
  std::string description_;
  int64_t total_;
  int64_t done_ = 0;
  bool enabled_;
  Clock::time_point start_;
  Clock::time_point last_draw_;
};

}  // namespace lerobot::metrics
