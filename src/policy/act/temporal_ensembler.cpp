#include "lerobot/policy/act/temporal_ensembler.hpp"

#include <ATen/TensorIndexing.h>
#include <torch/utils.h>

namespace lerobot::policy {

using torch::indexing::None;
using torch::indexing::Slice;

TemporalEnsembler::TemporalEnsembler(double coeff, int64_t chunk_size) : coeff_(coeff), chunk_size_(chunk_size) {}

void TemporalEnsembler::reset() {
  ensembled_.reset();
  count_.reset();
}

torch::Tensor TemporalEnsembler::update(const torch::Tensor& actions) {
  torch::NoGradGuard no_grad;
  if (!weights_.defined() || weights_.device() != actions.device()) {
    weights_ = torch::exp(-coeff_ * torch::arange(chunk_size_, torch::kInt64)).to(actions.device());
    weight_sums_ = weights_.cumsum(0);
  }
  if (!ensembled_.defined()) {
    ensembled_ = actions.clone();
    count_ = torch::ones({chunk_size_, 1}, torch::dtype(torch::kInt64).device(actions.device()));
  } else {
    // What was averaged so far is undone to a sum, joined by the new prediction and divided again.
    ensembled_ = ensembled_ * weight_sums_.index({count_ - 1});
    ensembled_ += actions.index({Slice(), Slice(None, -1)}) * weights_.index({count_});
    ensembled_ /= weight_sums_.index({count_});
    count_ = (count_ + 1).clamp_max(chunk_size_);
    ensembled_ = torch::cat({ensembled_, actions.index({Slice(), Slice(-1, None)})}, 1);
    count_ = torch::cat({count_, torch::ones_like(count_.index({Slice(0, 1)}))});
  }
  const torch::Tensor action = ensembled_.select(1, 0);
  ensembled_ = ensembled_.index({Slice(), Slice(1, None)});
  count_ = count_.index({Slice(1, None)});
  return action;
}

}  // namespace lerobot::policy
