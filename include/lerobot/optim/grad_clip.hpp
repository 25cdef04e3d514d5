// Gradient norm, clipping and the test for non-finite gradients, all on the device.
#pragma once

#include <torch/types.h>

#include <vector>

namespace lerobot::optim {

struct ClipResult {
  torch::Tensor norm;  // global L2 norm before clipping, shape [], on the first gradient's device
};

// Global L2 norm of all gradients: the norm of the gradients' norms. 0 when there are none.
torch::Tensor total_grad_norm(const std::vector<torch::Tensor>& params);

// Multiplies every gradient by min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does. Waits for
// nothing. A non-finite norm ruins the gradients: give found_inf_from_norm() to the optimizer, which then skips them.
ClipResult clip_grad_norm(const std::vector<torch::Tensor>& params, double max_norm);

// 1 where the norm is infinite or NaN, else 0: float32, shape []. One non-finite element makes the norm so; so does a
// norm beyond float32 (2e19 and more), with which no update makes sense either.
torch::Tensor found_inf_from_norm(const torch::Tensor& norm);

// The same for runs that do not clip: looks at every element. 0 when there are no gradients.
torch::Tensor found_inf_from_gradients(const std::vector<torch::Tensor>& params);

}  // namespace lerobot::optim
