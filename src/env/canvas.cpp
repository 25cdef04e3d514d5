#include "canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lerobot::env {
namespace {

using Corners = std::array<Pixel, 4>;

// The first and the last row that a quadrilateral touches.
struct Rows {
  int first = 0;
  int last = 0;
};

Rows rows_of(const Corners& corners) {
  const auto [low, high] =
      std::minmax_element(corners.begin(), corners.end(), [](Pixel a, Pixel b) { return a.y < b.y; });
  return {low->y, high->y};
}

// Calls visit(a, b) for every edge, with a.y <= b.y.
template <typename Visit>
void for_each_edge(const Corners& corners, Visit visit) {
  for (size_t i = 0; i < corners.size(); ++i) {
    const Pixel a = corners[i];
    const Pixel b = corners[(i + 1) % corners.size()];
    if (a.y <= b.y) {
      visit(a, b);
    } else {
      visit(b, a);
    }
  }
}

// Where the edges cross a row, in order.
class Crossings {
 public:
  void insert(int x) {
    size_t i = size_++;
    for (; i > 0 && x_[i - 1] > x; --i) x_[i] = x_[i - 1];
    x_[i] = x;
  }
  size_t size() const { return size_; }
  int operator[](size_t i) const { return x_[i]; }

 private:
  std::array<int, 4> x_;
  size_t size_ = 0;
};

}  // namespace

Pixel nearest_pixel(double x, double y) {
  const auto nearest = [](double value) {
    return static_cast<int>(std::nearbyint(std::clamp(value, -0x1p20, 0x1p20)));
  };
  return {nearest(x), nearest(y)};
}

void Canvas::fill_row(int x_from, int x_to, int y, Color color) {
  if (y < 0 || y >= height()) return;
  x_from = std::max(x_from, 0);
  x_to = std::min(x_to, width() - 1);
  if (x_from > x_to) return;
  uint8_t* pixel = at(x_from, y);
  for (int x = x_from; x <= x_to; ++x, pixel += 3) {
    pixel[0] = color.red;
    pixel[1] = color.green;
    pixel[2] = color.blue;
  }
}

void Canvas::fill_column(int x, int y_from, int y_to, Color color) {
  for (int y = std::max(y_from, 0); y <= std::min(y_to, height() - 1); ++y) fill_row(x, x, y, color);
}

void Canvas::blend(int x, int y, Color color, float weight) {
  if (!contains(x, y)) return;
  uint8_t* pixel = at(x, y);
  const auto mixed = [weight](uint8_t above, uint8_t below) {
    return static_cast<uint8_t>(weight * above + (1.0F - weight) * below);
  };
  pixel[0] = mixed(color.red, pixel[0]);
  pixel[1] = mixed(color.green, pixel[1]);
  pixel[2] = mixed(color.blue, pixel[2]);
}

void Canvas::fill_quadrilateral(const std::array<Pixel, 4>& corners, Color color) {
  const Rows rows = rows_of(corners);
  for (int y = std::max(rows.first, 0); y <= std::min(rows.last, height() - 1); ++y) {
    Crossings crossings;
    for_each_edge(corners, [&](Pixel a, Pixel b) {
      // The lower end of an edge belongs to the next edge, except in the last row.
      if (a.y == b.y || y < a.y || (y >= b.y && !(y == rows.last && y == b.y))) return;
      crossings.insert(static_cast<int>((y - a.y) * static_cast<double>(b.x - a.x) / (b.y - a.y) + a.x));
    });
    for (size_t i = 0; i + 1 < crossings.size(); i += 2) fill_row(crossings[i], crossings[i + 1], y, color);
  }
  for_each_edge(corners, [&](Pixel a, Pixel b) {
    if (a.y == b.y && a.y > rows.first && a.y < rows.last) fill_row(std::min(a.x, b.x), std::max(a.x, b.x), a.y, color);
  });
}

void Canvas::fill_disc(Pixel center, int radius, Color color) {
  // The midpoint circle, mirrored about the lines between pixels.
  int decision = 1 - radius;
  int x = 0;
  int y = radius;
  while (x < y) {
    if (decision >= 0) {
      --y;
      decision -= 2 * y;
    }
    ++x;
    decision += 2 * x + 1;
    fill_row(center.x - x, center.x + x - 1, center.y + y - 1, color);
    fill_row(center.x - x, center.x + x - 1, center.y - y, color);
    fill_row(center.x - y, center.x + y - 1, center.y + x - 1, color);
    fill_row(center.x - y, center.x + y - 1, center.y - x, color);
  }
}

}  // namespace lerobot::env
