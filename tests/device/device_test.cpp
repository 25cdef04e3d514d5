#include "lerobot/device/device.hpp"

#include <ATen/Context.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>

#include "lerobot/core/error.hpp"
#include "lerobot/device/memory.hpp"

namespace lerobot::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

const Availability kNothing{
    .cuda_reason = "no NVIDIA driver", .xpu_reason = "no libtorch_xpu", .mps_reason = "no macOS"};
const Availability kTwoCuda{.cuda_count = 2, .xpu_reason = "no libtorch_xpu", .mps_reason = "no macOS"};
const Availability kMac{.mps = true, .cuda_reason = "no libtorch_cuda", .xpu_reason = "no libtorch_xpu"};
const Availability kIntel{.xpu_count = 1, .cuda_reason = "no libtorch_cuda", .mps_reason = "no macOS"};

std::string resolved(std::optional<std::string> asked, const Availability& available, bool typed = true) {
  std::vector<std::string> warnings;
  return resolve_device(asked, typed, available, warnings).str();
}

TEST(ResolveDevice, TakesTheBestKindWhenNoneIsAsked) {
  Availability all = kTwoCuda;
  all.mps = true;
  all.xpu_count = 1;
  EXPECT_EQ(resolved(std::nullopt, all), "cuda:0");
  all.cuda_count = 0;
  EXPECT_EQ(resolved(std::nullopt, all), "mps:0");
  all.mps = false;
  EXPECT_EQ(resolved(std::nullopt, all), "xpu:0");
  all.xpu_count = 0;
  EXPECT_EQ(resolved(std::nullopt, all), "cpu");
}

TEST(ResolveDevice, AcceptsEverySpelling) {
  EXPECT_EQ(resolved("cpu", kTwoCuda), "cpu");
  EXPECT_EQ(resolved("cuda", kTwoCuda), "cuda:0");
  EXPECT_EQ(resolved("cuda:0", kTwoCuda), "cuda:0");
  EXPECT_EQ(resolved("cuda:1", kTwoCuda), "cuda:1");
  EXPECT_EQ(resolved("mps", kMac), "mps:0");
  EXPECT_EQ(resolved("xpu", kIntel), "xpu:0");
  EXPECT_EQ(resolved("xpu:0", kIntel), "xpu:0");
}

TEST(ResolveDevice, RefusesEveryOtherSpellingWhereverItComesFrom) {
  for (const char* text : {"", "gpu", "CPU", "Cuda", "cpu:0", "mps:0", "cuda:", "cuda:x", "cuda:-1", "cuda:01",
                           "cuda:1 ", "cuda:9999", "hip", "npu", "cuda:0:0"}) {
    for (const bool typed : {true, false}) {
      EXPECT_THAT(
          [&] { resolved(text, kTwoCuda, typed); },
          ThrowsMessage<UsageError>(AllOf(HasSubstr("--policy.device"), HasSubstr("cpu, cuda, cuda:N, mps, xpu"))))
          << text;
    }
  }
}

TEST(ResolveDevice, RefusesATypedDeviceThatIsAbsentWithTheReason) {
  EXPECT_THAT([] { resolved("cuda", kNothing); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("--policy.device=cuda"), HasSubstr("no NVIDIA driver"))));
  EXPECT_THAT([] { resolved("mps", kNothing); }, ThrowsMessage<UsageError>(HasSubstr("no macOS")));
  EXPECT_THAT([] { resolved("xpu:0", kNothing); }, ThrowsMessage<UsageError>(HasSubstr("no libtorch_xpu")));
}

TEST(ResolveDevice, SaysHowManyDevicesThereAreWhenTheIndexIsTooHigh) {
  EXPECT_THAT([] { resolved("cuda:2", kTwoCuda); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("only 2 cuda devices"), HasSubstr("cuda:1"))));
}

TEST(ResolveDevice, WarnsAndTakesAnotherWhenASavedDeviceIsAbsent) {
  std::vector<std::string> warnings;
  EXPECT_EQ(resolve_device("cuda:3", false, kNothing, warnings).str(), "cpu");
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("'cuda:3'"), HasSubstr("no NVIDIA driver"), HasSubstr("'cpu'"))));
  warnings.clear();
  EXPECT_EQ(resolve_device("mps", false, kTwoCuda, warnings).str(), "cuda:0");
  EXPECT_THAT(warnings, SizeIs(1));
}

TEST(ResolveDevice, WarnsThatTheCpuIsSlowOnlyWhenNobodyAskedForIt) {
  std::vector<std::string> warnings;
  resolve_device("cpu", true, kNothing, warnings);
  EXPECT_THAT(warnings, IsEmpty());
  resolve_device(std::nullopt, false, kNothing, warnings);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("slow")));
}

TEST(DeviceToRecord, KeepsTheTextThatRunsAndElseTheKindAlone) {
  EXPECT_EQ(device_to_record("cuda:1", c10::Device(c10::kCUDA, 1)), "cuda:1");
  EXPECT_EQ(device_to_record("cuda", c10::Device(c10::kCUDA, 0)), "cuda");
  EXPECT_EQ(device_to_record("cuda:1", c10::Device(c10::kCPU)), "cpu");
  EXPECT_EQ(device_to_record(std::nullopt, c10::Device(c10::kCUDA, 0)), "cuda");
}

TEST(AvailabilityFrom, GivesTheReasonOfTheInstalledLibrary) {
  const auto available = availability_from(
      {{"cuda", false, false, "this LibTorch has no libtorch_cuda"}, {"hip", true, false, "libamdhip64.so missing"}}, 0,
      0, false);
  EXPECT_EQ(available.cuda_reason, "libamdhip64.so missing");
  const auto loaded = availability_from({{"cuda", true, true, ""}}, 0, 0, false);
  EXPECT_EQ(loaded.cuda_reason, "libtorch_cuda is loaded but sees no device");
  EXPECT_EQ(availability_from({{"cuda", true, true, ""}}, 1, 0, false).cuda_reason, "");
}

TEST(Query, AgreesWithTheBackendsOfThisMachine) {
  const Availability available = query();
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kXpu, DeviceKind::kMps})
    EXPECT_EQ(available.count(kind) == 0, !available.reason(kind).empty()) << to_string(kind);
}

TEST(Describe, NamesTheDevice) {
  std::vector<std::string> warnings;
  EXPECT_THAT(describe(c10::Device(c10::kCPU)), HasSubstr("cpu, "));
  const c10::Device best = resolve_device(std::nullopt, false, query(), warnings);
  EXPECT_THAT(describe(best), HasSubstr(best.str()));
}

TEST(PeakMemory, IsCountedOnCudaAndXpuOnly) {
  for (const auto type : {c10::kCPU, c10::kMPS}) {
    EXPECT_EQ(peak_memory_gib(c10::Device(type)), std::nullopt);
    EXPECT_NO_THROW(reset_peak_memory(c10::Device(type)));
  }
}

TEST(SeedEverything, RepeatsTheRandomNumbers) {
  seed_everything(7);
  const at::Tensor first = at::rand({4});
  seed_everything(7);
  EXPECT_TRUE(at::equal(first, at::rand({4})));
  seed_everything(8);
  EXPECT_FALSE(at::equal(first, at::rand({4})));
}

TEST(CudnnDeterministic, TurnsTimingOffAndOn) {
  set_cudnn_deterministic(true);
  EXPECT_TRUE(at::globalContext().deterministicCuDNN());
  EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
  set_cudnn_deterministic(false);
  EXPECT_FALSE(at::globalContext().deterministicCuDNN());
  EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
}

}  // namespace
}  // namespace lerobot::device
