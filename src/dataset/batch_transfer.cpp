#include "lerobot/dataset/batch_transfer.hpp"

namespace lerobot::dataset {

void to_float_images(Batch& batch) {
  for (auto& [key, tensor] : batch.tensors) {
    if (tensor.scalar_type() == torch::kUInt8) tensor = tensor.to(torch::kFloat32).div_(255);
  }
}

Batch batch_to_device(Batch source, torch::Device device) {
  Batch moved;
  moved.task = std::move(source.task);
  for (auto& [key, tensor] : source.tensors) {
    const bool stage = !device.is_cpu() && tensor.device().is_cpu() && !tensor.is_pinned();
    const torch::Tensor staged = stage ? tensor.pin_memory() : tensor;
    moved.tensors.emplace(key, staged.to(device, /*non_blocking=*/true));
  }
  to_float_images(moved);
  return moved;
}

}  // namespace lerobot::dataset
