// Points and poses in the plane of the arena: pixels, y down, angles in radians from x towards y.
#pragma once

namespace lerobot::env {

struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Pose {
  double x = 0.0;
  double y = 0.0;
  double angle = 0.0;
};

}  // namespace lerobot::env
