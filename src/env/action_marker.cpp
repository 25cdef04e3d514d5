#include <algorithm>
#include <cmath>

#include "canvas.hpp"
#include "pusht_raster.hpp"

namespace lerobot::env {
namespace {

constexpr Color kActionColor{255, 0, 0};
constexpr double kArenaSize = 512.0;

// OpenCV's filled circle (Bresenham's).
void fill_round_tip(Canvas& canvas, Pixel center, int radius) {
  const auto row = [&](int dy, int half_width) {
    canvas.fill_row(center.x - half_width, center.x + half_width, center.y + dy, kActionColor);
  };
  int error = 0;
  int grow = 1;
  int shrink = 2 * radius - 1;
  for (int x = radius, y = 0; x >= y; ++y, error += grow, grow += 2) {
    if (y > 0 && error > 0) {
      --x;
      error -= shrink;
      shrink -= 2;
      if (x < y) break;
    }
    row(-y, x);
    row(y, x);
    row(-x, y);
    row(x, y);
  }
}

}  // namespace

void draw_action_marker(Image& image, Point action) {
  const auto to_pixel = [](double value) { return static_cast<int>(std::clamp(value, -0x1p20, 0x1p20)); };
  const Pixel center{to_pixel(action.x / kArenaSize * static_cast<double>(image.height)),
                     to_pixel(action.y / kArenaSize * static_cast<double>(image.width))};
  const auto side = static_cast<double>(std::min(image.width, image.height));
  const int arm = static_cast<int>(8.0 / 96.0 * side) / 2;
  const int thickness = static_cast<int>(1.0 / 96.0 * side);
  const int half_width = thickness <= 1 ? 0 : (thickness + 1) / 2;

  Canvas canvas(image);
  for (int across = -half_width; across <= half_width; ++across) {
    canvas.fill_row(center.x - arm, center.x + arm, center.y + across, kActionColor);
    canvas.fill_column(center.x + across, center.y - arm, center.y + arm, kActionColor);
  }
  if (half_width == 0) return;
  for (const Pixel tip : {Pixel{center.x - arm, center.y}, Pixel{center.x + arm, center.y},
                          Pixel{center.x, center.y - arm}, Pixel{center.x, center.y + arm}}) {
    fill_round_tip(canvas, tip, half_width);
  }
}

}  // namespace lerobot::env
