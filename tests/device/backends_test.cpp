#include "lerobot/device/backends.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

namespace lerobot::device {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path kFakes = FAKE_BACKENDS;

std::string any_machine(std::string_view) {
  return "";
}

const Backend& find(const std::vector<Backend>& backends, std::string_view name) {
  for (const Backend& backend : backends)
    if (backend.name == name) return backend;
  throw std::out_of_range(std::string(name));
}

TEST(LoadBackends, OpensTheLibraryThatIsThereAndExportsItsSymbols) {
  const auto backends = load_backends_from(kFakes / "good_cuda", any_machine);
  EXPECT_TRUE(find(backends, "cuda").present);
  EXPECT_TRUE(find(backends, "cuda").loaded);
  EXPECT_THAT(find(backends, "cuda").reason, IsEmpty());
  EXPECT_NE(dlsym(RTLD_DEFAULT, "lerobot_test_fake_backend_mark"), nullptr);
}

TEST(LoadBackends, SaysOfAnAbsentLibraryThatThisLibTorchLacksIt) {
  const auto backends = load_backends_from(kFakes / "good_hip", any_machine);
  EXPECT_TRUE(find(backends, "hip").loaded);
  EXPECT_FALSE(find(backends, "cuda").present);
  EXPECT_FALSE(find(backends, "cuda").loaded);
  EXPECT_THAT(find(backends, "cuda").reason, HasSubstr("no libtorch_cuda"));
}

TEST(LoadBackends, KnowsIntelsLibraryToo) {
  const auto backends = load_backends_from(kFakes / "good_xpu", any_machine);
  EXPECT_TRUE(find(backends, "xpu").loaded);
  EXPECT_FALSE(find(backends, "cuda").present);
  EXPECT_FALSE(find(backends, "hip").present);
}

class BrokenBackend : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, BrokenBackend, testing::Values("cuda", "hip", "xpu"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(BrokenBackend, KeepsTheLoadersReasonForAnUndefinedSymbol) {
  const auto backends = load_backends_from(kFakes / fmt::format("unresolved_{}", GetParam()), any_machine);
  EXPECT_TRUE(find(backends, GetParam()).present);
  EXPECT_FALSE(find(backends, GetParam()).loaded);
  EXPECT_THAT(find(backends, GetParam()).reason, HasSubstr("lerobot_test_symbol_that_nobody_defines"));
}

TEST_P(BrokenBackend, NamesTheLibraryThatItNeedsAndCannotFind) {
  const auto backends = load_backends_from(kFakes / fmt::format("incomplete_{}", GetParam()), any_machine);
  EXPECT_FALSE(find(backends, GetParam()).loaded);
  EXPECT_THAT(find(backends, GetParam()).reason, HasSubstr("lerobot_test_absent_dependency"));
}

TEST(MissingDriver, LooksForWhatEachBackendNeeds) {
  for (const char* name : {"cuda", "hip", "xpu"}) {
    const std::string missing = missing_driver(name);
    EXPECT_TRUE(missing.empty() || missing.starts_with("no ")) << missing;
  }
  EXPECT_EQ(missing_driver("mps"), "");
}

TEST(LoadBackends, OpensNothingOnAMachineWithoutTheDriver) {
  const auto backends = load_backends_from(kFakes / "good_cuda",
                                           [](std::string_view name) { return "no driver for " + std::string(name); });
  EXPECT_TRUE(find(backends, "cuda").present);
  EXPECT_FALSE(find(backends, "cuda").loaded);
  EXPECT_EQ(find(backends, "cuda").reason, "no driver for cuda");
}

TEST(LoadBackends, GivesTheSameReportEveryTime) {
  EXPECT_EQ(&load_backends(), &load_backends());
  EXPECT_EQ(load_backends().size(), 3u);
  for (const Backend& backend : load_backends()) EXPECT_EQ(backend.loaded, backend.reason.empty()) << backend.name;
}

TEST(LibtorchDirectory, HoldsTheRunningLibTorch) {
  EXPECT_TRUE(std::filesystem::exists(libtorch_directory() / "libtorch_cpu.so") ||
              std::filesystem::exists(libtorch_directory() / "libtorch_cpu.dylib"));
}

}  // namespace
}  // namespace lerobot::device
