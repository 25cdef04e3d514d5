// Remembers, on the device, which updates were withheld because the loss or a gradient was not finite.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace lerobot::train {

// The optimizer's kernels leave weights and moments alone where found_inf is 1 (design: no host reads in the loop), so
// the host learns of it only when it asks.
class NonFiniteMonitor {
 public:
  struct Report {
    int64_t count = 0;        // withheld updates since the last take()
    int64_t first_step = -1;  // the first of them, counted from 1; -1: none
    int64_t in_a_row = 0;     // withheld ones at the end, up to the latest update; reaches back over take()
  };

  // `found_inf`: float32, 0-d or one element, exactly 0 or 1. `step`: the step it belongs to, counted from 1.
  void record(const torch::Tensor& found_inf, int64_t step);

  // Reads the device and starts over, but for in_a_row.
  Report take();

 private:
  torch::Tensor count_;       // float32 [1]
  torch::Tensor first_step_;  // float32 [1], -1: none; exact up to 2^24 steps past base_step_
  torch::Tensor in_a_row_;    // float32 [1]
  int64_t base_step_ = 0;
};

}  // namespace lerobot::train
