// From the device a user asks for to the device that runs.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/device/backends.hpp"

namespace lerobot::device {

// The kinds of device --policy.device names, best first. An AMD GPU is kCuda too: ROCm's LibTorch calls it so.
enum class DeviceKind { kCuda, kMps, kXpu, kCpu };

std::string_view to_string(DeviceKind kind);  // "cuda", "mps", "xpu", "cpu"
c10::DeviceType to_device_type(DeviceKind kind);

// What this process can run on. A plain value, so that tests can make one up.
struct Availability {
  int cuda_count = 0;
  int xpu_count = 0;
  bool mps = false;
  // Why there is none, in the loader's or the driver's words; empty when there is one.
  std::string cuda_reason = {};
  std::string xpu_reason = {};
  std::string mps_reason = {};

  int count(DeviceKind kind) const;  // the CPU counts as one
  std::string_view reason(DeviceKind kind) const;
};

// What is there. Loads the backends if nobody has.
Availability query();

// The same from a given report of the backends and the counts of the devices they see.
Availability availability_from(const std::vector<Backend>& backends, int cuda_count, int xpu_count, bool mps);

// The device to run on: cuda and xpu with an index ("cuda" is cuda:0), mps:0, cpu without one.
//   asked is null         the best kind there is: cuda, mps, xpu, cpu
//   asked is there        that one. Accepted: cpu, cuda, cuda:N, mps, xpu, xpu:N
//   asked is not there    typed_on_command_line: UsageError with the reason. From a config or a checkpoint, which may
//                         come from another machine: the best kind there is, and a warning that says so
//   any other spelling    UsageError naming --policy.device and what is accepted
c10::Device resolve_device(const std::optional<std::string>& asked, bool typed_on_command_line,
                           const Availability& available, std::vector<std::string>& warnings);

// What config.json records as the device, as LeRobot does: the text that was asked for when it is what runs
// ("cuda:1", "cuda"), else the kind alone ("cpu").
std::string device_to_record(const std::optional<std::string>& asked, c10::Device resolved);

// One line for the log: "cuda:0, 139.8 GiB, 1 of 1" or "cpu, 8 threads".
std::string describe(c10::Device device);

// Seeds torch's generators: the CPU's and those of every accelerator.
void seed_everything(uint64_t seed);

// deterministic: cuDNN picks deterministic algorithms and does not time candidates. Otherwise it times them, which
// pays when shapes repeat, and may pick another algorithm in another run.
void set_cudnn_deterministic(bool deterministic);

}  // namespace lerobot::device
