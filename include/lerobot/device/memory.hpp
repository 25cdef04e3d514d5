// Memory of an accelerator and of the host beside it, through LibTorch's device-generic interfaces.
#pragma once

#include <c10/core/Device.h>

#include <optional>

namespace lerobot::device {

// Largest number of GiB that tensors held since the last reset. nullopt on devices that keep no count (cpu, mps).
std::optional<double> peak_memory_gib(c10::Device device);
void reset_peak_memory(c10::Device device);

// Whether host memory can be page-locked for the device, so that copies from it need not block the host: CUDA, ROCm and
// XPU. Not MPS: there LibTorch 2.11's pin_memory throws, and a copy that does not block may read memory that was freed.
bool has_page_locked_memory(c10::Device device);

}  // namespace lerobot::device
