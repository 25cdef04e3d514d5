// The random state of LibTorch's default generators.
#pragma once

#include <c10/core/Device.h>
#include <torch/types.h>

namespace lerobot::device {

// Of the device's default generator, uint8 [n] in main memory. An accelerator without an index means the current one.
torch::Tensor generator_state(c10::Device device);

// Throws c10::Error when LibTorch does not accept it.
void set_generator_state(c10::Device device, const torch::Tensor& state);

}  // namespace lerobot::device
