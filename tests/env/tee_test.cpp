#include "tee.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "golden_pusht.hpp"

namespace lerobot::env {
namespace {

TEST(GoalCoverage, EqualsShapelys) {
  const auto cases = read_golden_pusht("coverage.json").get<std::vector<std::array<double, 4>>>();
  ASSERT_GE(cases.size(), 100U);
  for (const auto& [x, y, angle, coverage] : cases) {
    EXPECT_NEAR(goal_coverage({x, y, angle}), coverage, 1e-12) << x << ", " << y << ", " << angle;
  }
}

TEST(GoalCoverage, IsOneOnTheGoalWhateverTheTurns) {
  EXPECT_NEAR(goal_coverage(kGoalPose), 1.0, 1e-12);
  EXPECT_NEAR(goal_coverage({kGoalPose.x, kGoalPose.y, kGoalPose.angle - 4 * std::numbers::pi}), 1.0, 1e-12);
}

TEST(GoalCoverage, IsNothingFarAway) {
  EXPECT_EQ(goal_coverage({-300, 900, 0.1}), 0.0);
}

TEST(TeeCorners, GoRoundBarAndStem) {
  const auto corners = tee_corners({100, 200, 0});
  EXPECT_EQ(corners[0].x, 40);
  EXPECT_EQ(corners[0].y, 200);
  EXPECT_EQ(corners[2].x, 160);
  EXPECT_EQ(corners[2].y, 230);
  EXPECT_EQ(corners[6].x, 115);
  EXPECT_EQ(corners[6].y, 320);
}

}  // namespace
}  // namespace lerobot::env
