#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "canvas.hpp"

namespace lerobot::env {
namespace {

// The part of a line, from 0 (its start) to 1, that one side of a rectangle leaves (Liang and Barsky).
class VisiblePart {
 public:
  // Keeps where `slope` * t <= `room`.
  void keep(double slope, double room) {
    if (slope == 0.0) {
      empty_ = empty_ || room < 0.0;
    } else if (slope < 0.0) {
      from_ = std::max(from_, room / slope);
    } else {
      to_ = std::min(to_, room / slope);
    }
  }
  bool empty() const { return empty_ || from_ > to_; }
  double from() const { return from_; }
  double to() const { return to_; }

 private:
  double from_ = 0.0;
  double to_ = 1.0;
  bool empty_ = false;
};

// The ends of the line within 0..width, 0..height, a whole number of pixels from its start. Absent: it passes by.
std::optional<std::pair<Pixel, Pixel>> clipped(Pixel from, Pixel to, int width, int height) {
  const double dx = to.x - from.x;
  const double dy = to.y - from.y;
  VisiblePart part;
  part.keep(-dx, from.x);
  part.keep(dx, width - from.x);
  part.keep(-dy, from.y);
  part.keep(dy, height - from.y);
  if (part.empty()) return std::nullopt;
  const auto point = [&](double t) {
    return Pixel{from.x + static_cast<int>(std::lround(t * dx)), from.y + static_cast<int>(std::lround(t * dy))};
  };
  return std::pair{part.from() > 0.0 ? point(part.from()) : from, part.to() < 1.0 ? point(part.to()) : to};
}

// The pixels of a line, one after the other. Source: Bresenham, "Algorithm for computer control of a digital plotter".
class LineWalk {
 public:
  // Walks with the slope of from-to, starting at `start`.
  LineWalk(Pixel from, Pixel to, Pixel start)
      : dx_(std::abs(to.x - from.x)),
        dy_(std::abs(to.y - from.y)),
        step_{from.x < to.x ? 1 : -1, from.y < to.y ? 1 : -1},
        error_((dx_ > dy_ ? dx_ : -dy_) / 2),
        at_(start) {}

  Pixel at() const { return at_; }
  bool is_steep() const { return dx_ <= dy_; }

  void advance() {
    const int error = error_;
    if (error > -dx_) {
      error_ -= dy_;
      at_.x += step_.x;
    }
    if (error < dy_) {
      error_ += dx_;
      at_.y += step_.y;
    }
  }

 private:
  int dx_, dy_;
  Pixel step_;
  int error_;
  Pixel at_;
};

}  // namespace

void Canvas::thick_line(Pixel from, Pixel to, int thickness, Color color) {
  const auto ends = clipped(from, to, width(), height());
  if (!ends) return;
  const int before = (thickness - 1) / 2;
  const int after = thickness / 2;
  LineWalk walk(from, to, ends->first);
  const auto paint = [&] {
    const auto [x, y] = walk.at();
    if (walk.is_steep()) {
      fill_row(x - before, x + after, y, color);
    } else {
      fill_column(x, y - before, y + after, color);
    }
  };
  const auto touches_picture = [&] {
    const auto [x, y] = walk.at();
    return walk.is_steep() ? contains(x - before, y) || contains(x + after, y)
                           : contains(x, y - before) || contains(x, y + after);
  };
  // Every step moves along the longer axis, so both loops end.
  const auto has_reached = [&](Pixel end) { return walk.is_steep() ? walk.at().y == end.y : walk.at().x == end.x; };
  paint();
  while (!has_reached(ends->second)) {
    walk.advance();
    paint();
  }
  while (!has_reached(to) && touches_picture()) {
    walk.advance();
    paint();
  }
}

}  // namespace lerobot::env
