// What `lerobot-train --list_devices` prints: which LibTorch this is, which accelerators it was built for, what keeps
// one from running, and what each device can do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/device/backends.hpp"
#include "lerobot/device/device.hpp"
#include "lerobot/device/traits.hpp"

namespace lerobot::device {

struct LibTorchBuild {
  std::string version;  // "2.11.0"
  std::string flavour;  // "CUDA 13.0", "ROCm", "XPU", "MPS", "CPU"
};

// From the text of at::show_config(), which the running libtorch_cpu carries; the headers that we were compiled with
// may be of another one. `mps`: whether it was built with MPS, which the text does not say.
LibTorchBuild parse_libtorch_build(std::string_view show_config, bool mps);
LibTorchBuild libtorch_build();
std::string to_text(const LibTorchBuild& build);  // "LibTorch 2.11.0, CUDA 13.0"

// A set environment variable that hides devices from the process.
struct VisibilityVariable {
  std::string name;
  std::string value;
  std::string overruled_by;  // the variable that takes its place; empty: this one is in force
};

using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> process_environment(const char* name);

// Those that the platform's runtime reads and that are set.
//   CUDA  CUDA_VISIBLE_DEVICES, even when empty: it then hides all
//   ROCm  ROCR_VISIBLE_DEVICES, below HIP; then HIP_VISIBLE_DEVICES or, where that is unset or empty,
//         CUDA_VISIBLE_DEVICES (ROCm's clr, rocdevice.cpp: an empty one counts as unset)
//   XPU   ONEAPI_DEVICE_SELECTOR and ZE_AFFINITY_MASK
std::vector<VisibilityVariable> visibility_variables(Platform platform, const Environment& environment);

// A plain value, so that tests can make one up.
struct DeviceReport {
  LibTorchBuild libtorch;
  std::string libtorch_directory;
  std::vector<Backend> backends;
  Availability available;
  std::string driver_version;         // of the vendor's library, as DriverReport gives it; empty: unknown
  std::vector<DeviceTraits> devices;  // accelerators, in LibTorch's order
  int cpu_threads = 1;
  std::vector<VisibilityVariable> visibility;
};

// Looks at this machine. Makes a context on every accelerator, to learn its free memory.
DeviceReport inspect();

std::string to_text(const DeviceReport& report);

std::string report();  // to_text(inspect())

// "NVIDIA H200, compute capability 9.0, 139.8 GiB (138.9 GiB free)"; what is unknown is left out.
std::string describe(const DeviceTraits& traits);

}  // namespace lerobot::device
