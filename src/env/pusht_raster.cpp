#include "pusht_raster.hpp"

#include <array>
#include <cmath>
#include <cstdlib>

#include "canvas.hpp"
#include "tee.hpp"

namespace lerobot::env {
namespace {

constexpr int kArenaSize = 512;
constexpr int kAgentRim = 4;
constexpr int kLineRadius = kWallRadius;  // the block's outline is as thick

constexpr Color kGoalColor{144, 238, 144};
constexpr Color kBlockColor{143, 163, 184};
constexpr Color kBlockOutlineColor{119, 136, 153};
constexpr Color kAgentRimColor{65, 105, 225};
constexpr Color kAgentColor{78, 126, 255};
constexpr Color kWallColor{211, 211, 211};
constexpr Color kContactColor{231, 76, 60};

using PixelCorners = std::array<Pixel, 4>;

PixelCorners pixels(const Point* corners) {
  PixelCorners result;
  for (size_t i = 0; i < result.size(); ++i) result[i] = nearest_pixel(corners[i].x, corners[i].y);
  return result;
}

// A segment with round ends, put together as pymunk's pygame_util does it: a line, a quadrilateral and two discs. The
// quadrilateral is offset by absolute values, so it lies askew for half of the directions.
void fat_segment(Canvas& canvas, Pixel a, Pixel b, Color color) {
  canvas.thick_line(a, b, 2 * kLineRadius, color);
  const double dx = std::abs(b.x - a.x);
  const double dy = std::abs(b.y - a.y);
  if (dx == 0.0 && dy == 0.0) return;
  const double scale = kLineRadius / std::sqrt(dy * dy + dx * dx);
  const auto [u, v] = nearest_pixel(dy * scale, dx * scale);
  const PixelCorners corners{{{a.x - u, a.y - v}, {a.x + u, a.y + v}, {b.x + u, b.y + v}, {b.x - u, b.y - v}}};
  canvas.fill_quadrilateral(corners, color);
  canvas.fill_disc(a, kLineRadius, color);
  canvas.fill_disc(b, kLineRadius, color);
}

void draw_rectangle(Canvas& canvas, const std::array<Point, 4>& rectangle) {
  const PixelCorners corners = pixels(rectangle.data());
  canvas.fill_quadrilateral(corners, kBlockColor);
  for (size_t i = 0; i < corners.size(); ++i) {
    fat_segment(canvas, corners[i], corners[(i + 1) % corners.size()], kBlockOutlineColor);
  }
}

void draw_goal(Canvas& canvas) {
  const std::array<Point, kTeeCorners> corners = tee_corners(kGoalPose);
  canvas.fill_quadrilateral(pixels(&corners[0]), kGoalColor);
  canvas.fill_quadrilateral(pixels(&corners[4]), kGoalColor);
}

Image empty_arena() {
  Image image{kArenaSize, kArenaSize, std::vector<uint8_t>(kArenaSize * kArenaSize * 3, 255)};
  Canvas canvas(image);
  draw_goal(canvas);
  return image;
}

}  // namespace

Image draw_pusht(const PushTScene& scene) {
  static const Image arena = empty_arena();
  Image image = arena;
  Canvas canvas(image);
  draw_rectangle(canvas, scene.bar);
  draw_rectangle(canvas, scene.stem);
  const Pixel agent = nearest_pixel(scene.agent.x, scene.agent.y);
  canvas.fill_disc(agent, kAgentRadius, kAgentRimColor);
  canvas.fill_disc(agent, kAgentRadius - kAgentRim, kAgentColor);
  for (const auto& [a, b] : kWalls) {
    fat_segment(canvas, nearest_pixel(a.x, a.y), nearest_pixel(b.x, b.y), kWallColor);
  }
  for (const auto& [a, b] : scene.contacts) {
    canvas.smooth_line(nearest_pixel(a.x, a.y), nearest_pixel(b.x, b.y), kContactColor);
  }
  return image;
}

}  // namespace lerobot::env
