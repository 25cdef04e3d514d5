// The T: its shape, where its corners lie, and how much of one T another covers.
#pragma once

#include <array>
#include <numbers>

#include "geometry.hpp"

namespace lerobot::env {

// A T is two rectangles that share part of an edge: a bar 120 x 30 and below it a stem 30 x 90.
inline constexpr int kTeeCorners = 8;

// Where the block should go.
inline constexpr Pose kGoalPose{256.0, 256.0, std::numbers::pi / 4};

// The corners of a T at `pose`: four of the bar, four of the stem, each clockwise on the screen and, for angle 0, from
// the upper left. The pose is that of the middle of the bar's outer edge.
std::array<Point, kTeeCorners> tee_corners(const Pose& pose);

// Area of the goal T that a T at `pose` covers, over the area of the T; in [0, 1] up to rounding.
double goal_coverage(const Pose& pose);

}  // namespace lerobot::env
