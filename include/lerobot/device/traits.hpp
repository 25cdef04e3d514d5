// What one device can do, and what mixed precision it can therefore not run.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/device/backends.hpp"
#include "lerobot/device/gpu_driver.hpp"

namespace lerobot::device {

enum class Platform { kCpu, kCuda, kRocm, kXpu, kMps };

std::string_view to_string(Platform platform);  // "CPU", "CUDA", "ROCm", "XPU", "MPS"

// ROCm's LibTorch calls its devices cuda; only ROCm's has a libtorch_hip.
Platform platform_of(c10::Device device, const std::vector<Backend>& backends);

// A plain value, so that tests can make one up.
struct DeviceTraits {
  c10::Device device{c10::kCPU};
  Platform platform = Platform::kCpu;
  std::string name = {};                                               // "NVIDIA H200"; empty: unknown
  std::optional<ComputeCapability> compute_capability = std::nullopt;  // NVIDIA; nullopt: unknown
  std::optional<uint64_t> total_bytes = std::nullopt;
  std::optional<uint64_t> free_bytes = std::nullopt;
  bool float16 = true;   // false where the backend says that it does not compute in the type
  bool bfloat16 = true;  // the same
};

// Of a device that query() counts. What cannot be found out stays empty; nothing is thrown. Memory is asked for only
// when `with_free_memory`, since that may make a context, which costs time and memory on the device.
DeviceTraits traits_of(c10::Device device, bool with_free_memory = false);

// Takes over what the driver says of the device, unless it counts other devices than LibTorch does: then its numbers
// are not LibTorch's.
void add_driver_facts(DeviceTraits& traits, const DriverReport& driver, int libtorch_device_count);

// False on MPS and on the Intel GPUs that lack float64. Cheap: asked in every fp16 step.
bool computes_in_float64(c10::Device device);

struct Refusal {
  std::string reason;   // "bfloat16 needs …, this GPU has 7.5"
  std::string way_out;  // "use --accelerator.mixed_precision=fp16 or =no"
};

// Whether the device may not train under autocast in `dtype` (float16 or bfloat16). nullopt: it may. The rules:
//   cpu    float16 refused, as LeRobot does: it would train in float32 without saying so. bfloat16 runs
//   cuda   bfloat16 refused below compute capability 8.0, which has no bfloat16 arithmetic: LibTorch would emulate it
//   rocm   both run
//   xpu    bfloat16 runs (LibTorch's XPU backend takes it as given); float16 where the device has it
//   mps    both run; bfloat16 from macOS 14 on
std::optional<Refusal> refuse_autocast(const DeviceTraits& traits, c10::ScalarType dtype);

}  // namespace lerobot::device
