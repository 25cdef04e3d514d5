#include "lerobot/precision/run_summary.hpp"

#include <gmock/gmock.h>

namespace lerobot::precision {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const device::LibTorchBuild kCuda13{"2.11.0", "CUDA 13.0"};
const device::DeviceTraits kH200{.device = c10::Device(c10::kCUDA, 0),
                                 .platform = device::Platform::kCuda,
                                 .name = "NVIDIA H200",
                                 .compute_capability = device::ComputeCapability{9, 0},
                                 .total_bytes = 140ULL << 30};

TEST(RunSummary, SaysOnOneLineWhatTheRunRunsOn) {
  const GradScaler scaler;
  EXPECT_EQ(run_summary(kH200, kCuda13, Precision::kFp16, &scaler, true),
            "cuda:0, NVIDIA H200, compute capability 9.0, 140.0 GiB; mixed_precision fp16, loss scale 65536; TF32 on; "
            "LibTorch 2.11.0, CUDA 13.0");
  EXPECT_EQ(run_summary(kH200, kCuda13, Precision::kBf16, nullptr, false),
            "cuda:0, NVIDIA H200, compute capability 9.0, 140.0 GiB; mixed_precision bf16; TF32 off; LibTorch 2.11.0, "
            "CUDA 13.0");
}

TEST(RunSummary, LeavesTf32OutWhereThereIsNone) {
  device::DeviceTraits traits{.device = c10::Device(c10::kCUDA, 0), .platform = device::Platform::kRocm};
  EXPECT_THAT(run_summary(traits, kCuda13, Precision::kNo, nullptr, true), Not(HasSubstr("TF32")));
  traits = kH200;
  traits.compute_capability = device::ComputeCapability{7, 5};
  EXPECT_THAT(run_summary(traits, kCuda13, Precision::kNo, nullptr, true), Not(HasSubstr("TF32")));
  traits.compute_capability = std::nullopt;
  EXPECT_THAT(run_summary(traits, kCuda13, Precision::kNo, nullptr, std::nullopt), HasSubstr("TF32 as LibTorch"));
}

TEST(RunSummary, DescribesThisMachinesCpu) {
  EXPECT_THAT(run_summary(c10::Device(c10::kCPU), Precision::kNo, nullptr, true),
              AllOf(StartsWith("cpu, "), HasSubstr("mixed_precision no; LibTorch 2.")));
}

}  // namespace
}  // namespace lerobot::precision
