#include "finite.hpp"

#include <ATen/Dispatch.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace lerobot::checkpoint {
namespace {

bool is_finite(const torch::Tensor& tensor) {
  if (!torch::isFloatingType(tensor.scalar_type())) return true;
  const torch::Tensor values = tensor.detach().cpu().contiguous();
  bool result = true;
  AT_DISPATCH_FLOATING_TYPES_AND2(torch::kHalf, torch::kBFloat16, values.scalar_type(), "is_finite", [&] {
    const std::span<const scalar_t> span(values.const_data_ptr<scalar_t>(), static_cast<size_t>(values.numel()));
    result = std::ranges::all_of(span, [](scalar_t value) { return std::isfinite(static_cast<double>(value)); });
  });
  return result;
}

}  // namespace

std::optional<std::string> first_non_finite(const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!is_finite(tensor)) return name;
  }
  return std::nullopt;
}

}  // namespace lerobot::checkpoint
