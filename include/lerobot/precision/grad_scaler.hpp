// Dynamic loss scaling for fp16, with the semantics of torch.amp.GradScaler.
//
// One update is: scale(loss), backward, then either
//   unscale_(gradients) -> clip -> optimizer.step({}, found_inf) -> update()       when gradients are clipped, or
//   check(gradients) -> optimizer.step(scale_tensor(), found_inf) -> update()      when they are not: the fused
//   optimizer
//                                                                                   divides by the scale itself.
// Nothing is read back from the device: the optimizer skips where found_inf is 1, and the scale falls there.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/core/json.hpp"

namespace lerobot::precision {

struct GradScalerOptions {
  double init_scale = 65536.0;
  double growth_factor = 2.0;      // the scale's factor after growth_interval updates without overflow, > 1
  double backoff_factor = 0.5;     // the scale's factor after an overflow, inside (0, 1)
  int64_t growth_interval = 2000;  // >= 1
};

// Makes found_inf (float32, shape []) the maximum over all ranks, in place.
using FoundInfReduction = std::function<void(torch::Tensor& found_inf)>;

class GradScaler {
 public:
  // Throws UsageError naming --accelerator.grad_scaler.<field> for a value outside its range.
  explicit GradScaler(const GradScalerOptions& options = {}, FoundInfReduction reduce_over_ranks = {});

  // loss * scale. The first call makes the scale's tensors on the loss' device.
  torch::Tensor scale(const torch::Tensor& loss);

  // Divides the gradients by the scale in place and returns found_inf: float32, shape [], 1 where any element on any
  // rank was infinite or NaN, else 0. Gradients of one device, float32, float64 or bfloat16; undefined ones are passed
  // over. Throws RunError for float16 gradients, for none at all, and when called twice in one update.
  torch::Tensor unscale_(const std::vector<torch::Tensor>& gradients);

  // The same answer without dividing.
  torch::Tensor check(const std::vector<torch::Tensor>& gradients);

  // found_inf 1: scale *= backoff_factor, the run of clean updates starts again. Else, after growth_interval clean
  // updates: scale *= growth_factor, unless that overflows float32. Throws RunError without an unscale_ or check
  // before.
  void update();

  // float32, shape []; lives on the device once scale() was called.
  const torch::Tensor& scale_tensor() const;

  double get_scale() const;        // reads from the device
  int64_t growth_tracker() const;  // clean updates since the last change; reads from the device

  // Throws RunError when the scale has shrunk so far that no update can succeed any more: every step overflowed.
  // Reads from the device: for log steps.
  void require_usable_scale() const;

  // The five fields of training_state/scaler_state.json: scale, growth_factor, backoff_factor, growth_interval,
  // _growth_tracker. Take it after update(). to_python_json(state_dict()) is the file's exact text.
  Json state_dict() const;

  // Restores all five, whatever the options were. Strict as LeRobot's reader is: exactly these keys, floats with a
  // point and integers without. Throws UsageError naming `source` and the key. Makes no tensors.
  void load_state_dict(const Json& state, std::string_view source);

 private:
  torch::Tensor find_non_finite(const std::vector<torch::Tensor>& gradients, const torch::Tensor& inverse_scale);

  GradScalerOptions options_;  // init_scale holds the scale until the first scale()
  int64_t init_growth_tracker_ = 0;
  FoundInfReduction reduce_over_ranks_;
  torch::Tensor scale_;           // float32, []
  torch::Tensor growth_tracker_;  // int32, []
  torch::Tensor found_inf_;       // of the update in progress
};

// 1 where any element of any gradient is infinite or NaN, else 0; the gradients, multiplied by inverse_scale, replace
// themselves. float32, shape [], on the gradients' device. Throws RunError for float16 gradients, mixed devices, none.
torch::Tensor unscale_and_find_non_finite(const std::vector<torch::Tensor>& gradients,
                                          const torch::Tensor& inverse_scale);

}  // namespace lerobot::precision
