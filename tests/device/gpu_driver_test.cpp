#include "lerobot/device/gpu_driver.hpp"

#include <gmock/gmock.h>

#include "lerobot/device/backends.hpp"

namespace lerobot::device {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(AskCudaDriver, TellsNameMemoryAndComputeCapabilityInTheDriversOrder) {
  const DriverReport report = ask_cuda_driver(FAKE_BACKENDS "/driver/libcuda.so");
  EXPECT_THAT(report.problem, IsEmpty());
  EXPECT_EQ(report.version, "13.1");
  ASSERT_THAT(report.devices, SizeIs(2));
  EXPECT_EQ(report.devices[0].name, "Fake T4");
  EXPECT_EQ(report.devices[0].total_bytes, 16ULL << 30);
  EXPECT_EQ(report.devices[0].compute_capability, (ComputeCapability{7, 5}));
  EXPECT_EQ(report.devices[1].name, "Fake H100");
  EXPECT_EQ(report.devices[1].compute_capability, (ComputeCapability{9, 0}));
}

TEST(AskCudaDriver, SaysWhyItKnowsNothing) {
  EXPECT_THAT(ask_cuda_driver("liblerobot_no_such_driver.so").problem, HasSubstr("liblerobot_no_such_driver.so"));
  EXPECT_THAT(ask_cuda_driver(FAKE_BACKENDS "/good_cuda/libtorch_cuda.so").problem, HasSubstr("lacks cuInit"));
  const DriverReport broken = ask_cuda_driver(FAKE_BACKENDS "/broken_driver/libcuda.so");
  EXPECT_EQ(broken.problem, "cuInit failed with error 100");
  EXPECT_THAT(broken.devices, IsEmpty());
}

TEST(AskHipRuntime, SaysWhatALibraryLacks) {
  EXPECT_THAT(ask_hip_runtime(FAKE_BACKENDS "/driver/libcuda.so").problem, HasSubstr("lacks hipInit"));
}

TEST(AskHipRuntime, FindsTheRuntimeThatLibtorchHipBroughtAlong) {
  load_backends_from(FAKE_BACKENDS "/whole_hip", [](std::string_view) { return std::string(); });
  const DriverReport report = ask_hip_runtime();
  EXPECT_THAT(report.problem, IsEmpty());
  EXPECT_EQ(report.version, "6.4.43482");
  ASSERT_THAT(report.devices, SizeIs(2));
  EXPECT_EQ(report.devices[1].name, "Fake H100");
  EXPECT_EQ(report.devices[1].total_bytes, 80ULL << 30);
  EXPECT_EQ(report.devices[1].compute_capability, std::nullopt);
}

TEST(ComputeCapability, OrdersByGeneration) {
  EXPECT_LT((ComputeCapability{7, 5}), (ComputeCapability{8, 0}));
  EXPECT_LT((ComputeCapability{8, 6}), (ComputeCapability{10, 0}));
}

}  // namespace
}  // namespace lerobot::device
