// The arithmetic of a training run. Weights, gradients and optimizer state are float32 in all of them.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

#include "lerobot/device/traits.hpp"

namespace lerobot::precision {

enum class Precision {
  kNo,    // float32 throughout
  kBf16,  // bfloat16 autocast
  kFp16,  // float16 autocast; its narrow range needs a GradScaler
};

std::string_view to_string(Precision precision);  // "no", "bf16", "fp16"
std::optional<Precision> parse_precision(std::string_view text);

// What autocast computes in; nullopt for kNo.
std::optional<c10::ScalarType> autocast_dtype(Precision precision);

// The precision that runs, from --accelerator.mixed_precision and the device that runs. Throws UsageError for an
// unknown text, and for one that the device cannot run (device::refuse_autocast), with the reason and the way out.
Precision resolve_precision(std::string_view mixed_precision, const device::DeviceTraits& traits);
// Finds out what the device can do: on a GPU this asks the driver.
Precision resolve_precision(std::string_view mixed_precision, c10::Device device);

}  // namespace lerobot::precision
