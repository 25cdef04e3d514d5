#include "tee.hpp"

#include <cmath>

#include "convex_overlap.hpp"

namespace lerobot::env {
namespace {

constexpr double kArea = 120.0 * 30.0 + 30.0 * 90.0;

// In the T's own frame, in the order in which Chipmunk keeps the hulls.
constexpr std::array<Point, kTeeCorners> kCorners{
    {{-60, 0}, {60, 0}, {60, 30}, {-60, 30}, {-15, 30}, {15, 30}, {15, 120}, {-15, 120}}};

std::array<Quadrilateral, 2> rectangles(const std::array<Point, kTeeCorners>& corners) {
  return {Quadrilateral{corners[0], corners[1], corners[2], corners[3]},
          Quadrilateral{corners[4], corners[5], corners[6], corners[7]}};
}

}  // namespace

std::array<Point, kTeeCorners> tee_corners(const Pose& pose) {
  const double cosine = std::cos(pose.angle);
  const double sine = std::sin(pose.angle);
  std::array<Point, kTeeCorners> corners;
  for (int i = 0; i < kTeeCorners; ++i) {
    const auto [x, y] = kCorners[i];
    corners[i] = {x * cosine - y * sine + pose.x, x * sine + y * cosine + pose.y};
  }
  return corners;
}

double goal_coverage(const Pose& pose) {
  double area = 0.0;
  for (const Quadrilateral& goal : rectangles(tee_corners(kGoalPose))) {
    for (const Quadrilateral& block : rectangles(tee_corners(pose))) area += overlap_area(block, goal);
  }
  return area / kArea;
}

}  // namespace lerobot::env
