// What the vendor's own library says of the GPUs. LibTorch has no device-generic call for a GPU's name or for NVIDIA's
// compute capability, and our files include no vendor's headers: the library is asked by the names of its C functions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lerobot::device {

// NVIDIA's generation of a GPU: 7.5 is a T4, 8.0 an A100, 9.0 an H100.
struct ComputeCapability {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

struct DriverDevice {
  std::string name;
  uint64_t total_bytes = 0;
  std::optional<ComputeCapability> compute_capability;  // NVIDIA only
};

struct DriverReport {
  // In the process's order, which is LibTorch's: CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER and their HIP counterparts act
  // below these libraries' device numbers. (NVML would number the GPUs of the machine instead.)
  std::vector<DriverDevice> devices;
  std::string version;  // NVIDIA: the newest CUDA that the driver serves, "13.0"; AMD: HIP's, "6.4.43482"
  std::string problem;  // why there are no devices; empty when there are
};

// The CUDA driver API. `library` is opened by name and stays open, as LibTorch's own use of it does. Makes no context.
DriverReport ask_cuda_driver(const char* library = "libcuda.so.1");

// The HIP runtime. nullptr: the one that libtorch_hip has brought into the process.
DriverReport ask_hip_runtime(const char* library = nullptr);

}  // namespace lerobot::device
