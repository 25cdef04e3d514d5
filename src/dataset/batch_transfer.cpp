#include "lerobot/dataset/batch_transfer.hpp"

#include "lerobot/device/memory.hpp"
#include "lerobot/device/traits.hpp"

namespace lerobot::dataset {

torch::Tensor to_device(const torch::Tensor& tensor, torch::Device device, torch::ScalarType dtype) {
  if (dtype == torch::kFloat64 && !device::computes_in_float64(device)) dtype = torch::kFloat32;
  return tensor.to(device, dtype, /*non_blocking=*/device::has_page_locked_memory(device));
}

void to_float_images(Batch& batch) {
  for (auto& [key, tensor] : batch.tensors) {
    if (tensor.scalar_type() == torch::kUInt8) tensor = tensor.to(torch::kFloat32).div_(255);
  }
}

Batch batch_to_device(Batch source, torch::Device device) {
  Batch moved;
  moved.task = std::move(source.task);
  for (auto& [key, tensor] : source.tensors) {
    const bool stage = device::has_page_locked_memory(device) && tensor.device().is_cpu() && !tensor.is_pinned();
    const torch::Tensor staged = stage ? tensor.pin_memory() : tensor;
    moved.tensors.emplace(key, to_device(staged, device, staged.scalar_type()));
  }
  to_float_images(moved);
  return moved;
}

}  // namespace lerobot::dataset
