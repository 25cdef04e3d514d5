// Peak memory of an accelerator, through LibTorch's device-generic allocator interface.
#pragma once

#include <c10/core/Device.h>

#include <optional>

namespace lerobot::device {

// Largest number of GiB that tensors held since the last reset. nullopt on devices that keep no count (cpu, mps).
std::optional<double> peak_memory_gib(c10::Device device);
void reset_peak_memory(c10::Device device);

}  // namespace lerobot::device
