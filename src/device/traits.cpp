#include "lerobot/device/traits.hpp"

#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <fmt/format.h>

#include <algorithm>

#include "lerobot/device/device.hpp"

namespace lerobot::device {
namespace {

constexpr ComputeCapability kFirstWithBfloat16 = {8, 0};

void add_memory(DeviceTraits& traits) {
  const auto accelerator = at::getAccelerator();
  if (!accelerator || *accelerator != traits.device.type() || traits.device.index() >= at::accelerator::deviceCount())
    return;
  try {
    if (traits.platform == Platform::kMps) {
      traits.total_bytes = at::detail::getMPSHooks().getRecommendedMaxMemory();
      return;
    }
    const auto [free, total] = at::accelerator::getMemoryInfo(traits.device.index());
    traits.free_bytes = free;
    traits.total_bytes = total;
  } catch (const c10::Error&) {
    // Not every backend can say.
  }
}

// The types that the backend computes in. LibTorch's XPU backend asks the device; the others list every type.
auto supported_types(c10::Device device) {
  return c10::impl::getDeviceGuardImpl(device.type())
      ->getDeviceCapability(device)
      .capability_data.supported_scalar_types;
}

void add_types(DeviceTraits& traits) {
  const auto types = supported_types(traits.device);
  traits.float16 = types.has_Half;
  traits.bfloat16 = types.has_BFloat16;
}

}  // namespace

std::string_view to_string(Platform platform) {
  switch (platform) {
    case Platform::kCuda:
      return "CUDA";
    case Platform::kRocm:
      return "ROCm";
    case Platform::kXpu:
      return "XPU";
    case Platform::kMps:
      return "MPS";
    case Platform::kCpu:
      break;
  }
  return "CPU";
}

Platform platform_of(c10::Device device, const std::vector<Backend>& backends) {
  const auto is_hip = [](const Backend& backend) { return backend.name == "hip" && backend.loaded; };
  if (device.is_cuda())
    return std::any_of(backends.begin(), backends.end(), is_hip) ? Platform::kRocm : Platform::kCuda;
  if (device.is_xpu()) return Platform::kXpu;
  if (device.is_mps()) return Platform::kMps;
  return Platform::kCpu;
}

void add_driver_facts(DeviceTraits& traits, const DriverReport& driver, int libtorch_device_count) {
  const auto index = static_cast<size_t>(std::max<int>(traits.device.index(), 0));
  if (static_cast<size_t>(libtorch_device_count) != driver.devices.size() || index >= driver.devices.size()) return;
  const DriverDevice& found = driver.devices[index];
  traits.name = found.name;
  traits.compute_capability = found.compute_capability;
  if (found.total_bytes > 0) traits.total_bytes = found.total_bytes;
}

DeviceTraits traits_of(c10::Device device, bool with_free_memory) {
  DeviceTraits traits{.device = device, .platform = platform_of(device, load_backends())};
  if (device.is_cpu()) return traits;
  const Availability available = query();
  switch (traits.platform) {
    case Platform::kCuda:
      add_driver_facts(traits, ask_cuda_driver(), available.cuda_count);
      break;
    case Platform::kRocm:
      add_driver_facts(traits, ask_hip_runtime(), available.cuda_count);
      break;
    case Platform::kXpu:
      if (device.index() < available.xpu_count) add_types(traits);
      break;
    case Platform::kMps:
      traits.bfloat16 = available.mps && at::detail::getMPSHooks().isOnMacOSorNewer(14, 0);
      break;
    case Platform::kCpu:
      break;
  }
  if (with_free_memory || !traits.total_bytes) add_memory(traits);
  return traits;
}

bool computes_in_float64(c10::Device device) {
  if (device.is_mps()) return false;
  return !device.is_xpu() || supported_types(device).has_Double;
}

std::optional<Refusal> refuse_autocast(const DeviceTraits& traits, c10::ScalarType dtype) {
  if (dtype == c10::kHalf && traits.platform == Platform::kCpu) {
    return Refusal{"fp16 requires an accelerator device: on a CPU LeRobot would train in float32 without saying so",
                   "use an accelerator (--policy.device=cuda, xpu or mps), --accelerator.mixed_precision=bf16, or =no"};
  }
  if (dtype == c10::kHalf && !traits.float16)
    return Refusal{"this device has no float16 arithmetic", "use --accelerator.mixed_precision=bf16 or =no"};
  if (dtype != c10::kBFloat16) return std::nullopt;
  if (traits.platform == Platform::kMps && !traits.bfloat16) {
    return Refusal{"MPS computes in bfloat16 from macOS 14 on",
                   "update macOS, or use --accelerator.mixed_precision=fp16 or =no"};
  }
  if (!traits.bfloat16)
    return Refusal{"this device has no bfloat16 arithmetic", "use --accelerator.mixed_precision=fp16 or =no"};
  if (traits.platform == Platform::kCuda && traits.compute_capability &&
      *traits.compute_capability < kFirstWithBfloat16) {
    return Refusal{fmt::format("bfloat16 needs an NVIDIA GPU of compute capability 8.0 (Ampere) or newer, and this one "
                               "has {}.{}",
                               traits.compute_capability->major, traits.compute_capability->minor),
                   "use --accelerator.mixed_precision=fp16 or =no"};
  }
  return std::nullopt;
}

}  // namespace lerobot::device
