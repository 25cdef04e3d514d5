// Temporal ensembling of overlapping action chunks (ACT paper, algorithm 2), averaged online.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace lerobot::policy {

// Each step of an episode has been predicted by several chunks; the returned action is their average with weights
// w_i = exp(-coeff * i), i = 0 for the oldest prediction: coeff > 0 favours older predictions. Not thread-safe.
class TemporalEnsembler {
 public:
  TemporalEnsembler(double coeff, int64_t chunk_size);

  // Takes the chunk predicted for the current step, [B, chunk_size, A]; returns the action for it, [B, A].
  torch::Tensor update(const torch::Tensor& actions);
  void reset();  // at the start of an episode

 private:
  double coeff_;
  int64_t chunk_size_;
  torch::Tensor weights_;      // w_i, [chunk_size]
  torch::Tensor weight_sums_;  // cumulative sum of w_i
  torch::Tensor ensembled_;    // [B, chunk_size - 1, A] between calls; undefined before the first
  torch::Tensor count_;        // [chunk_size - 1, 1] int64: predictions already averaged, per step
};

}  // namespace lerobot::policy
