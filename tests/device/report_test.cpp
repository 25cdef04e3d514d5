#include "lerobot/device/report.hpp"

#include <gmock/gmock.h>

#include <map>

namespace lerobot::device {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr uint64_t kGiB = 1ULL << 30;

const Backend kNoHip{"hip", false, false, "this LibTorch has no libtorch_hip (/opt/torch/lib)"};
const Backend kNoCuda{"cuda", false, false, "this LibTorch has no libtorch_cuda (/opt/torch/lib)"};
const Backend kNoXpu{"xpu", false, false, "this LibTorch has no libtorch_xpu (/opt/torch/lib)"};

DeviceReport two_nvidia_gpus() {
  DeviceReport report;
  report.libtorch = {"2.11.0", "CUDA 13.0"};
  report.libtorch_directory = "/opt/torch/lib";
  report.backends = {{"cuda", true, true, ""}, kNoHip, kNoXpu};
  report.available = availability_from(report.backends, 2, 0, false);
  report.driver_version = "13.1";
  report.devices = {{.device = c10::Device(c10::kCUDA, 0),
                     .platform = Platform::kCuda,
                     .name = "NVIDIA H200",
                     .compute_capability = ComputeCapability{9, 0},
                     .total_bytes = 140 * kGiB,
                     .free_bytes = 139 * kGiB + kGiB / 2},
                    {.device = c10::Device(c10::kCUDA, 1),
                     .platform = Platform::kCuda,
                     .name = "Tesla T4",
                     .compute_capability = ComputeCapability{7, 5},
                     .total_bytes = 15 * kGiB}};
  report.cpu_threads = 16;
  report.visibility = {{"CUDA_VISIBLE_DEVICES", "1,0", ""}};
  return report;
}

TEST(DeviceReportText, ShowsAnNvidiaMachine) {
  EXPECT_EQ(to_text(two_nvidia_gpus()), R"(LibTorch 2.11.0, CUDA 13.0
  /opt/torch/lib

Backends
  cuda  loaded, the driver serves CUDA up to 13.1
  hip   not in this LibTorch
  xpu   not in this LibTorch
  mps   not available: MPS needs macOS on Apple silicon and a LibTorch built for it

Devices
  cuda:0  NVIDIA H200, compute capability 9.0, 140.0 GiB (139.5 GiB free)
    mixed_precision: no, bf16, fp16
  cuda:1  Tesla T4, compute capability 7.5, 15.0 GiB
    mixed_precision: no, fp16
    not bf16: bfloat16 needs an NVIDIA GPU of compute capability 8.0 (Ampere) or newer, and this one has 7.5
  cpu  16 threads
    mixed_precision: no, bf16
    not fp16: fp16 requires an accelerator device: on a CPU LeRobot would train in float32 without saying so

CUDA_VISIBLE_DEVICES=1,0 is in force
Without --policy.device: cuda:0
)");
}

TEST(DeviceReportText, ShowsAnAmdMachine) {
  DeviceReport report;
  report.libtorch = {"2.11.0", "ROCm"};
  report.libtorch_directory = "/opt/torch/lib";
  report.backends = {kNoCuda, {"hip", true, true, ""}, kNoXpu};
  report.available = availability_from(report.backends, 1, 0, false);
  report.driver_version = "6.4.43482";
  report.devices = {{.device = c10::Device(c10::kCUDA, 0), .platform = Platform::kRocm, .name = "AMD Instinct MI300X"}};
  report.visibility = {{"HIP_VISIBLE_DEVICES", "3", ""}, {"CUDA_VISIBLE_DEVICES", "0", "HIP_VISIBLE_DEVICES"}};
  EXPECT_EQ(to_text(report), R"(LibTorch 2.11.0, ROCm
  /opt/torch/lib

Backends
  cuda  not in this LibTorch
  hip   loaded, HIP 6.4.43482
  xpu   not in this LibTorch
  mps   not available: MPS needs macOS on Apple silicon and a LibTorch built for it

Devices
  cuda:0  AMD Instinct MI300X
    mixed_precision: no, bf16, fp16
  cpu  1 thread
    mixed_precision: no, bf16
    not fp16: fp16 requires an accelerator device: on a CPU LeRobot would train in float32 without saying so

HIP_VISIBLE_DEVICES=3 is in force
CUDA_VISIBLE_DEVICES=0 has no effect: HIP_VISIBLE_DEVICES takes its place
Without --policy.device: cuda:0
)");
}

TEST(DeviceReportText, SaysWhatKeepsEachBackendFromRunning) {
  DeviceReport report;
  report.backends = {{"cuda", true, false, "no NVIDIA driver: libcuda.so.1: cannot open shared object file"},
                     {"hip", true, false, "libamdhip64.so.6: cannot open shared object file"},
                     {"xpu", true, true, ""}};
  report.available = availability_from(report.backends, 0, 0, false);
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("cuda  not loaded: no NVIDIA driver: libcuda.so.1: cannot open"));
  EXPECT_THAT(text, HasSubstr("hip   not loaded: libamdhip64.so.6: cannot open"));
  EXPECT_THAT(text, HasSubstr("xpu   libtorch_xpu is loaded but sees no device"));
  EXPECT_THAT(text, HasSubstr("Without --policy.device: cpu"));
}

TEST(DeviceReportText, ShowsAMac) {
  DeviceReport report;
  report.available = availability_from({}, 0, 0, true);
  report.devices = {{.device = c10::Device(c10::kMPS, 0), .platform = Platform::kMps, .total_bytes = 24 * kGiB}};
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("mps   built in"));
  EXPECT_THAT(text, HasSubstr("mps:0  24.0 GiB\n    mixed_precision: no, bf16, fp16\n"));
  EXPECT_THAT(text, HasSubstr("Without --policy.device: mps:0"));
}

TEST(LibTorchBuildParsing, ReadsTheBuildSettings) {
  const auto text = [](const char* settings, bool mps = false) { return to_text(parse_libtorch_build(settings, mps)); };
  EXPECT_EQ(text("  - Build settings: BLAS_INFO=mkl, CUDA_VERSION=13.0, TORCH_VERSION=2.11.0, USE_CUDA=ON, "
                 "USE_ROCM=OFF, USE_XPU=OFF, \n"),
            "LibTorch 2.11.0, CUDA 13.0");
  EXPECT_EQ(text(" TORCH_VERSION=2.11.0, USE_CUDA=0, USE_ROCM=OFF, \n"), "LibTorch 2.11.0, CPU");
  EXPECT_EQ(text(" TORCH_VERSION=2.11.0, USE_CUDA=OFF, USE_ROCM=ON, \n"), "LibTorch 2.11.0, ROCm");
  EXPECT_EQ(text(" TORCH_VERSION=2.11.0, USE_CUDA=OFF, USE_XPU=1, \n"), "LibTorch 2.11.0, XPU");
  EXPECT_EQ(text(" TORCH_VERSION=2.11.0, USE_CUDA=OFF, \n", true), "LibTorch 2.11.0, MPS");
  EXPECT_EQ(text(""), "LibTorch of unknown version, CPU");
}

TEST(LibTorchBuildParsing, UnderstandsTheRunningLibTorch) {
  EXPECT_THAT(libtorch_build().version, StartsWith("2."));
}

std::string variables(Platform platform, const std::map<std::string, std::string>& set) {
  std::string text;
  const auto environment = [&](const char* name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  };
  for (const VisibilityVariable& variable : visibility_variables(platform, environment))
    text += variable.name + "=" + variable.value + (variable.overruled_by.empty() ? " " : "(overruled) ");
  return text;
}

TEST(VisibilityVariables, AreThoseThatThePlatformReads) {
  const std::map<std::string, std::string> all = {{"CUDA_VISIBLE_DEVICES", "0"},
                                                  {"HIP_VISIBLE_DEVICES", "1"},
                                                  {"ROCR_VISIBLE_DEVICES", "2,1"},
                                                  {"ZE_AFFINITY_MASK", "3"}};
  EXPECT_EQ(variables(Platform::kCuda, all), "CUDA_VISIBLE_DEVICES=0 ");
  EXPECT_EQ(variables(Platform::kRocm, all),
            "ROCR_VISIBLE_DEVICES=2,1 HIP_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=0(overruled) ");
  EXPECT_EQ(variables(Platform::kXpu, all), "ZE_AFFINITY_MASK=3 ");
  EXPECT_EQ(variables(Platform::kCpu, all), "");
}

TEST(VisibilityVariables, LetCudasStandInForAnUnsetOrEmptyHipVariable) {
  EXPECT_EQ(variables(Platform::kRocm, {{"CUDA_VISIBLE_DEVICES", "0"}}), "CUDA_VISIBLE_DEVICES=0 ");
  EXPECT_EQ(variables(Platform::kRocm, {{"CUDA_VISIBLE_DEVICES", "0"}, {"HIP_VISIBLE_DEVICES", ""}}),
            "CUDA_VISIBLE_DEVICES=0 ");
  EXPECT_EQ(variables(Platform::kCuda, {{"CUDA_VISIBLE_DEVICES", ""}}), "CUDA_VISIBLE_DEVICES= ");
}

TEST(Report, DescribesThisMachine) {
  const std::string text = report();
  EXPECT_THAT(text, StartsWith("LibTorch 2."));
  EXPECT_THAT(text, HasSubstr(libtorch_directory().string()));
  EXPECT_THAT(text, HasSubstr("Without --policy.device: "));
  for (const DeviceTraits& traits : inspect().devices) EXPECT_THAT(text, HasSubstr(traits.device.str()));
}

}  // namespace
}  // namespace lerobot::device
