#include "lerobot/precision/precision.hpp"

#include <gmock/gmock.h>

#include "lerobot/core/error.hpp"

namespace lerobot::precision {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const c10::Device kCpu(c10::kCPU);
const c10::Device kCuda(c10::kCUDA, 0);

TEST(ResolvePrecision, AcceptsThreeValues) {
  EXPECT_EQ(resolve_precision("no", kCpu), Precision::kNo);
  EXPECT_EQ(resolve_precision("bf16", kCpu), Precision::kBf16);
  EXPECT_EQ(resolve_precision("no", kCuda), Precision::kNo);
  EXPECT_EQ(resolve_precision("bf16", kCuda), Precision::kBf16);
  EXPECT_EQ(resolve_precision("fp16", kCuda), Precision::kFp16);
}

TEST(ResolvePrecision, RefusesFp16OnACpuWithTheWaysOut) {
  EXPECT_THAT([] { resolve_precision("fp16", kCpu); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("--accelerator.mixed_precision=fp16"),
                                              HasSubstr("fp16 requires an accelerator device"), HasSubstr("bf16"),
                                              HasSubstr("--policy.device=cuda"))));
}

TEST(ResolvePrecision, RefusesBf16OnAnNvidiaGpuThatOnlyEmulatesIt) {
  const device::DeviceTraits t4{.device = kCuda,
                                .platform = device::Platform::kCuda,
                                .name = "Tesla T4",
                                .compute_capability = device::ComputeCapability{7, 5}};
  EXPECT_THAT(
      [&] { resolve_precision("bf16", t4); },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("--accelerator.mixed_precision=bf16"), HasSubstr("cuda:0 (Tesla T4)"),
                                      HasSubstr("has 7.5"), HasSubstr("--accelerator.mixed_precision=fp16"))));
  EXPECT_EQ(resolve_precision("fp16", t4), Precision::kFp16);
  EXPECT_EQ(resolve_precision("no", t4), Precision::kNo);
}

TEST(ResolvePrecision, RefusesAnythingElseNamingTheFlagAndWhatIsAccepted) {
  for (const char* text : {"", "fp32", "NO", "bfloat16", "fp8"}) {
    EXPECT_THAT(
        [&] { resolve_precision(text, kCuda); },
        ThrowsMessage<UsageError>(AllOf(HasSubstr("--accelerator.mixed_precision"), HasSubstr("no, bf16, fp16"))));
  }
}

TEST(AutocastDtype, IsThatOfThePrecision) {
  EXPECT_EQ(autocast_dtype(Precision::kNo), std::nullopt);
  EXPECT_EQ(autocast_dtype(Precision::kBf16), c10::kBFloat16);
  EXPECT_EQ(autocast_dtype(Precision::kFp16), c10::kHalf);
}

}  // namespace
}  // namespace lerobot::precision
