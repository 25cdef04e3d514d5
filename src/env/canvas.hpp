// Drawing on an RGB picture with the pixels that pygame 2.6 sets. What lies outside of the picture is not drawn.
#pragma once

#include <array>
#include <cstdint>

#include "lerobot/env/observation.hpp"

namespace lerobot::env {

struct Color {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

// A pixel; x to the right, y down.
struct Pixel {
  int x = 0;
  int y = 0;

  bool operator==(const Pixel&) const = default;
};

// The nearest pixel, halves to the even one as Python's round(). Far off, where nothing is seen, it stays within
// +-2^20.
Pixel nearest_pixel(double x, double y);

class Canvas {
 public:
  // Takes the picture to draw on, which must outlive the canvas.
  explicit Canvas(Image& image) : image_(image) {}

  int width() const { return static_cast<int>(image_.width); }
  int height() const { return static_cast<int>(image_.height); }
  bool contains(int x, int y) const { return x >= 0 && x < width() && y >= 0 && y < height(); }

  // The pixels x_from..x_to of row y, both included; none when x_from > x_to.
  void fill_row(int x_from, int x_to, int y, Color color);
  void fill_column(int x, int y_from, int y_to, Color color);

  // weight * color + (1 - weight) * what is there, in float32, cut to an integer.
  void blend(int x, int y, Color color, float weight);

  // A filled polygon of four corners that do not all lie in one row, its outline included.
  void fill_quadrilateral(const std::array<Pixel, 4>& corners, Color color);

  // A filled disc, 2 radius pixels wide: its middle is the upper left corner of the pixel `center`.
  void fill_disc(Pixel center, int radius, Color color);

  // A line `thickness` > 1 pixels wide, measured along the axis that it leans to less, with ends cut along that axis.
  void thick_line(Pixel from, Pixel to, int thickness, Color color);

  // An anti-aliased line one pixel wide (Xiaolin Wu's).
  void smooth_line(Pixel from, Pixel to, Color color);

 private:
  uint8_t* at(int x, int y) { return image_.rgb.data() + (static_cast<size_t>(y) * image_.width + x) * 3; }

  Image& image_;
};

}  // namespace lerobot::env
