#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "canvas.hpp"

namespace lerobot::env {
namespace {

// A line along its longer axis: `along` grows from `from` to `to`, `across` changes by `gradient` a pixel. float32
// throughout, as the original: the rounding shows in the blended colours.
struct Span {
  float along_from, across_from, along_to, across_to;
  float gradient = 0.0F;

  // Cuts the line to low..high along. Returns false when nothing is left.
  bool clip_along(float low, float high) {
    if (along_to <= low || along_from >= high) return false;
    if (along_from < low) {
      across_from += gradient * (low - along_from);
      along_from = low;
    }
    if (along_to > high) {
      across_to += gradient * (high - along_to);
      along_to = high;
    }
    return true;
  }

  // The same across; needs the gradient's sign to know which end may lie outside of which bound.
  bool clip_across(float low, float high) {
    if (gradient > 0.0F) return clip_ends_across(along_from, across_from, along_to, across_to, low, high);
    return clip_ends_across(along_to, across_to, along_from, across_from, low, high);
  }

 private:
  // `upper` and `lower` are the ends with the smaller and the larger `across`.
  bool clip_ends_across(float& upper_along, float& upper, float& lower_along, float& lower, float low,
                        float high) const {
    if (lower <= low || upper >= high) return false;
    if (upper < low) {
      upper_along += (low - upper) / gradient;
      upper = low;
    }
    if (lower > high) {
      lower_along += (high - lower) / gradient;
      lower = high;
    }
    return true;
  }
};

// The line falls on two pixels beside each other in every column and is shared between them. `across` comes one too
// large, so that cutting it to an integer rounds it down even in row -1.
struct SmoothPen {
  Canvas& canvas;
  Color color;
  bool is_steep;

  void paint(int along, float across) const {
    const float above = 1.0F - part_below(across);
    blend_both(along, across, above, 1.0F - above);  // not part_below() itself: this rounds once more
  }

  // At an end of the line; `weight` is how much of the column it reaches.
  void paint_end(int along, float across, float weight) const {
    const float below = part_below(across);
    blend_both(along, across, (1.0F - below) * weight, below * weight);
  }

 private:
  static float part_below(float across) { return across - static_cast<float>(static_cast<int>(across)); }

  void blend_both(int along, float across, float above, float below) const {
    const int row = static_cast<int>(across);
    if (part_below(across) > 0.0F) blend(along, row, below);
    blend(along, row - 1, above);
  }

  void blend(int along, int across, float weight) const {
    if (is_steep) {
      canvas.blend(across, along, color, weight);
    } else {
      canvas.blend(along, across, color, weight);
    }
  }
};

}  // namespace

void Canvas::smooth_line(Pixel from, Pixel to, Color color) {
  if (from == to) return blend(from.x, from.y, color, 1.0F);
  const bool is_steep = std::abs(to.x - from.x) < std::abs(to.y - from.y);
  float along_high = static_cast<float>(width());
  float across_high = static_cast<float>(height());
  if (is_steep) {
    std::swap(from.x, from.y);
    std::swap(to.x, to.y);
    std::swap(along_high, across_high);
  }
  if (from.x > to.x) std::swap(from, to);
  Span line{static_cast<float>(from.x), static_cast<float>(from.y), static_cast<float>(to.x), static_cast<float>(to.y)};
  line.gradient = (line.across_to - line.across_from) / (line.along_to - line.along_from);
  if (!line.clip_along(-1.0F, along_high) || !line.clip_across(-1.0F, across_high)) return;
  line.across_from += 1.0F;
  line.across_to += 1.0F;

  const SmoothPen pen{*this, color, is_steep};
  int first = static_cast<int>(line.along_from);
  float across = line.across_from + line.gradient * (static_cast<float>(first) - line.along_from);
  if (line.along_to > 0.0F) {
    pen.paint_end(first, across, 1.0F + static_cast<float>(first) - line.along_from);
    across += line.gradient;
    ++first;
  }
  const int last = static_cast<int>(std::ceil(line.along_to));
  if (line.along_from < along_high - 1.0F) {
    pen.paint_end(last, line.across_to + line.gradient * (static_cast<float>(last) - line.along_to),
                  1.0F - static_cast<float>(last) + line.along_to);
  }
  for (int along = first; along < last; ++along, across += line.gradient) pen.paint(along, across);
}

}  // namespace lerobot::env
