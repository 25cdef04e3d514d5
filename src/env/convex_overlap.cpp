#include "convex_overlap.hpp"

namespace lerobot::env {
namespace {

// A convex polygon. A cut adds one corner at most, but where corners lie on the cutting edge within rounding, at worst
// half as many again: 4, 6, 9, 13, 19.
struct Polygon {
  std::array<Point, 19> corners;
  int size = 0;

  void add(Point corner) { corners[size++] = corner; }
};

// Twice the area of the triangle (a, b, c); positive where c lies inside of the edge a-b.
double side(Point a, Point b, Point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

Polygon cut(const Polygon& polygon, Point a, Point b) {
  Polygon inside;
  for (int i = 0; i < polygon.size; ++i) {
    const Point from = polygon.corners[i];
    const Point to = polygon.corners[i + 1 < polygon.size ? i + 1 : 0];
    const double from_side = side(a, b, from);
    const double to_side = side(a, b, to);
    if (from_side >= 0.0) inside.add(from);
    if ((from_side >= 0.0) != (to_side >= 0.0)) {
      const double part = from_side / (from_side - to_side);
      inside.add({from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)});
    }
  }
  return inside;
}

double area(const Polygon& polygon) {
  double twice = 0.0;
  for (int i = 1; i + 1 < polygon.size; ++i) {
    twice += side(polygon.corners[0], polygon.corners[i], polygon.corners[i + 1]);
  }
  return twice / 2;
}

}  // namespace

double overlap_area(const Quadrilateral& a, const Quadrilateral& b) {
  Polygon rest;
  for (const Point corner : a) rest.add(corner);
  for (int i = 0; i < 4 && rest.size > 0; ++i) rest = cut(rest, b[i], b[(i + 1) % 4]);
  return area(rest);
}

}  // namespace lerobot::env
