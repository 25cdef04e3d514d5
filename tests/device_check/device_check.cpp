// What only a machine with the accelerator can show: that its arithmetic, its loss scaling and its skipped updates are
// right. One line a check; exit code 0 when none failed. Without an accelerator it checks what the CPU can and says
// what was not checked.
//   device_check [DEVICE]    as --policy.device; the best there is when left out
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>

#include "check.hpp"
#include "lerobot/device/backends.hpp"
#include "lerobot/device/device.hpp"
#include "lerobot/device/report.hpp"

namespace {

using device_check::Outcome;
using device_check::Verdict;

Outcome run_safely(const device_check::Check& check, const lerobot::device::DeviceTraits& device) {
  try {
    return check.run(device);
  } catch (const std::exception& error) {
    return {Verdict::kFailed, fmt::format("threw: {}", error.what())};
  }
}

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "ok";
    case Verdict::kFailed:
      return "FAILED";
    case Verdict::kNotChecked:
      break;
  }
  return "not checked";
}

int check_all(const std::optional<std::string>& asked) {
  std::vector<std::string> warnings;
  const c10::Device device =
      lerobot::device::resolve_device(asked, /*typed_on_command_line=*/true, lerobot::device::query(), warnings);
  fmt::print("{}\nChecking {}\n", lerobot::device::report(), device.str());
  const lerobot::device::DeviceTraits traits = lerobot::device::traits_of(device);
  int failures = 0;
  int not_checked = 0;
  for (const auto& checks : {device_check::arithmetic_checks(), device_check::training_checks()}) {
    for (const device_check::Check& check : checks) {
      const auto start = std::chrono::steady_clock::now();
      const Outcome outcome = run_safely(check, traits);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      fmt::print("{:<11}  {}: {} ({:.1f} s)\n", word(outcome.verdict), check.name, outcome.text, seconds.count());
      std::fflush(stdout);
      failures += outcome.verdict == Verdict::kFailed ? 1 : 0;
      not_checked += outcome.verdict == Verdict::kNotChecked ? 1 : 0;
    }
  }
  fmt::print("{} failed, {} not checked\n", failures, not_checked);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    lerobot::device::load_backends();
    return check_all(argc > 1 ? std::optional<std::string>(argv[1]) : std::nullopt);
  } catch (const std::exception& error) {
    fmt::print(stderr, "device_check: {}\n", error.what());
    return 2;
  }
}
