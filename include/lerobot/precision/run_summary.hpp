// The one line at the start of a run that says what it runs on and how.
#pragma once

#include <optional>
#include <string>

#include "lerobot/device/report.hpp"
#include "lerobot/precision/grad_scaler.hpp"
#include "lerobot/precision/precision.hpp"

namespace lerobot::precision {

// "cuda:0, NVIDIA H200, compute capability 9.0, 139.8 GiB; mixed_precision fp16, loss scale 65536; TF32 on;
// LibTorch 2.11.0, CUDA 13.0", on one line. TF32 (tf32.hpp) is left out where there is none.
// scaler: null under other precisions than fp16. Its scale is read.
std::string run_summary(const device::DeviceTraits& traits, const device::LibTorchBuild& libtorch, Precision precision,
                        const GradScaler* scaler, std::optional<bool> tf32);

// Of the running LibTorch and device.
std::string run_summary(c10::Device device, Precision precision, const GradScaler* scaler, std::optional<bool> tf32);

}  // namespace lerobot::precision
