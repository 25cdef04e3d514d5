// The common area of two convex quadrilaterals.
#pragma once

#include <array>

#include "geometry.hpp"

namespace lerobot::env {

// Corners in order, with the inside on the side towards which x turns to y.
using Quadrilateral = std::array<Point, 4>;

// Clips `a` by every edge of `b` (Sutherland and Hodgman, "Reentrant Polygon Clipping", 1974) and measures what is
// left.
double overlap_area(const Quadrilateral& a, const Quadrilateral& b);

}  // namespace lerobot::env
