#include "lerobot/precision/run_summary.hpp"

#include <fmt/format.h>

namespace lerobot::precision {
namespace {

std::string device_text(const device::DeviceTraits& traits) {
  if (traits.device.is_cpu()) return device::describe(traits.device);
  const std::string facts = device::describe(traits);
  return traits.device.str() + (facts.empty() ? "" : ", " + facts);
}

// NVIDIA's tensor cores take TF32 from compute capability 8.0 on; older GPUs and other vendors' ignore the setting.
bool has_tf32(const device::DeviceTraits& traits) {
  return traits.platform == device::Platform::kCuda &&
         traits.compute_capability.value_or(device::ComputeCapability{8, 0}) >= device::ComputeCapability{8, 0};
}

std::string tf32_text(std::optional<bool> tf32) {
  if (!tf32) return "TF32 as LibTorch has it (convolutions)";
  return *tf32 ? "TF32 on" : "TF32 off";
}

}  // namespace

std::string run_summary(const device::DeviceTraits& traits, const device::LibTorchBuild& libtorch, Precision precision,
                        const GradScaler* scaler, std::optional<bool> tf32) {
  std::string text = fmt::format("{}; mixed_precision {}", device_text(traits), to_string(precision));
  if (scaler != nullptr) text += fmt::format(", loss scale {:g}", scaler->get_scale());
  if (has_tf32(traits)) text += "; " + tf32_text(tf32);
  return text + "; " + device::to_text(libtorch);
}

std::string run_summary(c10::Device device, Precision precision, const GradScaler* scaler, std::optional<bool> tf32) {
  return run_summary(device::traits_of(device), device::libtorch_build(), precision, scaler, tf32);
}

}  // namespace lerobot::precision
