#include "lerobot/device/traits.hpp"

#include <gmock/gmock.h>

#include "lerobot/device/device.hpp"

namespace lerobot::device {
namespace {

using testing::HasSubstr;

const c10::Device kCpu(c10::kCPU);
const c10::Device kCuda0(c10::kCUDA, 0);
const c10::Device kCuda1(c10::kCUDA, 1);

DeviceTraits nvidia(int major, int minor) {
  return {.device = kCuda0, .platform = Platform::kCuda, .compute_capability = ComputeCapability{major, minor}};
}

struct Rule {
  const char* name;
  DeviceTraits traits;
  const char* bf16;  // a part of the reason, or nullptr when it runs
  const char* fp16;
};

TEST(RefuseAutocast, KnowsTheRuleOfEveryDevice) {
  const std::vector<Rule> rules = {
      {"cpu", {}, nullptr, "fp16 requires an accelerator device"},
      {"V100", nvidia(7, 0), "and this one has 7.0", nullptr},
      {"T4", nvidia(7, 5), "compute capability 8.0", nullptr},
      {"A100", nvidia(8, 0), nullptr, nullptr},
      {"RTX 3090", nvidia(8, 6), nullptr, nullptr},
      {"H200", nvidia(9, 0), nullptr, nullptr},
      {"B200", nvidia(10, 0), nullptr, nullptr},
      {"NVIDIA, unknown", {.device = kCuda0, .platform = Platform::kCuda}, nullptr, nullptr},
      {"ROCm", {.device = kCuda0, .platform = Platform::kRocm}, nullptr, nullptr},
      {"XPU", {.device = c10::Device(c10::kXPU, 0), .platform = Platform::kXpu}, nullptr, nullptr},
      {"XPU without float16",
       {.device = c10::Device(c10::kXPU, 0), .platform = Platform::kXpu, .float16 = false},
       nullptr,
       "no float16"},
      {"macOS 14", {.device = c10::Device(c10::kMPS, 0), .platform = Platform::kMps}, nullptr, nullptr},
      {"macOS 13",
       {.device = c10::Device(c10::kMPS, 0), .platform = Platform::kMps, .bfloat16 = false},
       "macOS 14",
       nullptr},
  };
  for (const Rule& rule : rules) {
    SCOPED_TRACE(rule.name);
    for (const auto& [dtype, reason] : {std::pair{c10::kBFloat16, rule.bf16}, std::pair{c10::kHalf, rule.fp16}}) {
      SCOPED_TRACE(dtype);
      const auto refusal = refuse_autocast(rule.traits, dtype);
      ASSERT_EQ(refusal.has_value(), reason != nullptr);
      EXPECT_THAT(refusal ? refusal->reason : "", HasSubstr(reason != nullptr ? reason : ""));
    }
  }
}

TEST(RefuseAutocast, OffersOnlyWhatTheDeviceCanRun) {
  EXPECT_THAT(refuse_autocast({}, c10::kHalf)->way_out,
              AllOf(HasSubstr("--policy.device=cuda"), HasSubstr("mixed_precision=bf16"), HasSubstr("=no")));
  EXPECT_THAT(refuse_autocast(nvidia(7, 5), c10::kBFloat16)->way_out,
              AllOf(HasSubstr("mixed_precision=fp16"), HasSubstr("=no")));
}

TEST(PlatformOf, TellsAmdFromNvidiaByTheLibraryThatWasLoaded) {
  const std::vector<Backend> nvidia_build = {{"cuda", true, true, ""}, {"hip", false, false, "none"}};
  const std::vector<Backend> amd_build = {{"cuda", false, false, "none"}, {"hip", true, true, ""}};
  EXPECT_EQ(platform_of(kCuda0, nvidia_build), Platform::kCuda);
  EXPECT_EQ(platform_of(kCuda0, amd_build), Platform::kRocm);
  EXPECT_EQ(platform_of(kCpu, amd_build), Platform::kCpu);
  EXPECT_EQ(platform_of(c10::Device(c10::kXPU, 0), {}), Platform::kXpu);
  EXPECT_EQ(platform_of(c10::Device(c10::kMPS, 0), {}), Platform::kMps);
}

TEST(AddDriverFacts, TakesThoseOfTheDevicesIndex) {
  const DriverReport driver{.devices = {{"first", 1, ComputeCapability{7, 5}}, {"second", 2, ComputeCapability{9, 0}}}};
  DeviceTraits traits{.device = kCuda1, .platform = Platform::kCuda};
  add_driver_facts(traits, driver, 2);
  EXPECT_EQ(traits.name, "second");
  EXPECT_EQ(traits.compute_capability, (ComputeCapability{9, 0}));
  EXPECT_EQ(traits.total_bytes, 2u);
}

TEST(AddDriverFacts, TrustsNoDriverThatCountsOtherDevicesThanLibTorch) {
  DeviceTraits traits{.device = kCuda0, .platform = Platform::kCuda};
  add_driver_facts(traits, {.devices = {{"first", 1, ComputeCapability{7, 5}}, {"second", 2, {}}}}, 1);
  add_driver_facts(traits, {.problem = "no driver"}, 1);
  EXPECT_EQ(traits.name, "");
  EXPECT_EQ(traits.compute_capability, std::nullopt);
  EXPECT_EQ(traits.total_bytes, std::nullopt);
}

TEST(TraitsOf, ThrowsForNoDeviceWhetherThereOrNot) {
  EXPECT_EQ(traits_of(kCpu).platform, Platform::kCpu);
  for (const auto type : {c10::kCUDA, c10::kXPU, c10::kMPS})
    EXPECT_EQ(traits_of(c10::Device(type, 0)).device.type(), type);
  const Availability available = query();
  for (int index = 0; index < available.cuda_count; ++index)
    EXPECT_NE(traits_of(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index))).name, "");
}

TEST(ComputesInFloat64, IsFalseOnMps) {
  EXPECT_TRUE(computes_in_float64(kCpu));
  EXPECT_TRUE(computes_in_float64(kCuda0));
  EXPECT_FALSE(computes_in_float64(c10::Device(c10::kMPS, 0)));
}

}  // namespace
}  // namespace lerobot::device
