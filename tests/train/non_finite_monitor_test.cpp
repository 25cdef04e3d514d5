#include "lerobot/train/non_finite_monitor.hpp"

#include <gtest/gtest.h>

#include "support/torch.hpp"

namespace lerobot::train {
namespace {

torch::Tensor found(bool value) {
  return torch::scalar_tensor(value ? 1.0f : 0.0f);
}

TEST(NonFiniteMonitor, CountsWithheldUpdatesAndNamesTheFirst) {
  NonFiniteMonitor monitor;
  for (int64_t step = 101; step <= 110; ++step) monitor.record(found(step == 103 || step == 107), step);
  const auto report = monitor.take();
  EXPECT_EQ(report.count, 2);
  EXPECT_EQ(report.first_step, 103);
}

TEST(NonFiniteMonitor, ReportsNothingForCleanSteps) {
  NonFiniteMonitor monitor;
  for (int64_t step = 1; step <= 3; ++step) monitor.record(found(false), step);
  const auto report = monitor.take();
  EXPECT_EQ(report.count, 0);
  EXPECT_EQ(report.first_step, -1);
}

TEST(NonFiniteMonitor, StartsOverAfterEachReport) {
  NonFiniteMonitor monitor;
  monitor.record(found(true), 1);
  EXPECT_EQ(monitor.take().count, 1);
  EXPECT_EQ(monitor.take().count, 0);
  monitor.record(found(false), 2);
  monitor.record(found(true), 3);
  EXPECT_EQ(monitor.take().first_step, 3);
}

TEST(NonFiniteMonitor, CountsTheWithheldUpdatesInARowAcrossReports) {
  NonFiniteMonitor monitor;
  const bool updates[] = {true, false, true, true};
  for (int64_t step = 1; step <= 4; ++step) monitor.record(found(updates[step - 1]), step);
  EXPECT_EQ(monitor.take().in_a_row, 2);
  monitor.record(found(true), 5);
  EXPECT_EQ(monitor.take().in_a_row, 3);
  monitor.record(found(false), 6);
  EXPECT_EQ(monitor.take().in_a_row, 0);
}

}  // namespace
}  // namespace lerobot::train
