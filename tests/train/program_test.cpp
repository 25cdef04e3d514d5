#include "lerobot/train/program.hpp"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lerobot/core/error.hpp"
#include "lerobot/core/signals.hpp"
#include "support/torch.hpp"

namespace lerobot::train {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int exit_code;
  std::string text;
};

Outcome run(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  const int exit_code = run_program("lerobot-train", body);
  return {exit_code, testing::internal::GetCapturedStderr()};
}

TEST(RunProgram, ReturnsZeroAndSaysNothingOnSuccess) {
  const Outcome outcome = run([] {});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.text, "");
}

TEST(RunProgram, ReturnsTwoForWhatTheUserCanFix) {
  const Outcome outcome = run([] { throw UsageError("--steps must be positive"); });
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.text, "lerobot-train: error: --steps must be positive\n");
}

TEST(RunProgram, ReturnsOneForAFailedRun) {
  EXPECT_EQ(run([] { throw RunError("disk full"); }).exit_code, 1);
  EXPECT_EQ(run([] { throw std::bad_alloc(); }).exit_code, 1);
}

TEST(RunProgram, ReturnsTheSignalThatStoppedIt) {
  const Outcome outcome = run([] { throw signals::Stopped(SIGTERM, "stopped by SIGTERM after step 3"); });
  EXPECT_EQ(outcome.exit_code, 143);
  EXPECT_EQ(outcome.text, "lerobot-train: stopped by SIGTERM after step 3\n");
}

TEST(RunProgram, ShowsNoStackTraceOfLibTorch) {
  const Outcome outcome = run([] { torch::ones({2}).add(torch::ones({3})); });
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("size of tensor"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("frame #")));
  EXPECT_THAT(outcome.text, Not(HasSubstr("Exception raised from")));
}

}  // namespace
}  // namespace lerobot::train
