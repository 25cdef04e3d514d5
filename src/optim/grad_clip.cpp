#include "lerobot/optim/grad_clip.hpp"

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <map>
#include <string>

#include "lerobot/precision/grad_scaler.hpp"

namespace lerobot::optim {
namespace {

std::vector<torch::Tensor> gradients_of(const std::vector<torch::Tensor>& params) {
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& param : params)
    if (param.grad().defined()) gradients.push_back(param.grad());
  return gradients;
}

// The foreach kernels take one device and dtype at a time.
std::vector<std::vector<torch::Tensor>> by_device_and_dtype(const std::vector<torch::Tensor>& tensors) {
  std::map<std::pair<std::string, c10::ScalarType>, std::vector<torch::Tensor>> lists;
  for (const torch::Tensor& tensor : tensors) lists[{tensor.device().str(), tensor.scalar_type()}].push_back(tensor);
  std::vector<std::vector<torch::Tensor>> result;
  for (auto& [key, list] : lists) result.push_back(std::move(list));
  return result;
}

torch::Tensor norm_of(const std::vector<torch::Tensor>& gradients) {
  if (gradients.empty()) return at::zeros({}, at::kFloat);
  std::vector<torch::Tensor> norms;
  for (const auto& list : by_device_and_dtype(gradients))
    for (const torch::Tensor& norm : at::_foreach_norm(list, 2)) norms.push_back(norm.to(gradients.front().device()));
  return at::linalg_vector_norm(at::stack(norms), 2);
}

}  // namespace

torch::Tensor total_grad_norm(const std::vector<torch::Tensor>& params) {
  torch::NoGradGuard no_grad;
  return norm_of(gradients_of(params));
}

ClipResult clip_grad_norm(const std::vector<torch::Tensor>& params, double max_norm) {
  torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor> gradients = gradients_of(params);
  const torch::Tensor norm = norm_of(gradients);
  // Python divides a float by a tensor as reciprocal times float; the same order gives the same bits.
  const torch::Tensor coefficient = (norm + 1e-6).reciprocal().mul(max_norm).clamp_max(1.0);
  for (auto& list : by_device_and_dtype(gradients)) at::_foreach_mul_(list, coefficient.to(list.front().device()));
  return {norm};
}

torch::Tensor found_inf_from_norm(const torch::Tensor& norm) {
  torch::NoGradGuard no_grad;
  return at::isfinite(norm).logical_not().to(at::kFloat);
}

torch::Tensor found_inf_from_gradients(const std::vector<torch::Tensor>& params) {
  const std::vector<torch::Tensor> gradients = gradients_of(params);
  if (gradients.empty()) return at::zeros({}, at::kFloat);
  return precision::unscale_and_find_non_finite(gradients, at::ones({}, gradients.front().options().dtype(at::kFloat)));
}

}  // namespace lerobot::optim
