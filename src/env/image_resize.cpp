#include "image_resize.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lerobot::env {
namespace {

constexpr float kOne = 2048.0F;  // a weight of 1

// Where an output coordinate reads: sample and the one after it, with their weights.
struct Taps {
  int64_t first = 0;
  int32_t first_weight = 0;
  int32_t second_weight = 0;
};

// `clamp_fraction`: at the borders, take the border sample alone. Otherwise the caller clamps samples and both weights
// stay, which rounds differently.
std::vector<Taps> taps(int64_t from, int64_t to, bool clamp_fraction) {
  const double scale = 1.0 / (static_cast<double>(to) / static_cast<double>(from));
  std::vector<Taps> result(to);
  for (int64_t i = 0; i < to; ++i) {
    const auto position = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
    auto first = static_cast<int64_t>(std::floor(position));
    float fraction = position - static_cast<float>(first);
    if (clamp_fraction && (first < 0 || first >= from - 1)) {
      first = std::clamp<int64_t>(first, 0, from - 1);
      fraction = 0.0F;
    }
    const auto weight = [](float part) { return static_cast<int32_t>(std::nearbyint(part * kOne)); };
    result[i] = {first, weight(1.0F - fraction), weight(fraction)};
  }
  return result;
}

// One row interpolated along x; values times 2^11.
void interpolate_row(const uint8_t* row, int64_t width, const std::vector<Taps>& columns, int32_t* out) {
  for (const Taps& tap : columns) {
    const uint8_t* first = row + tap.first * 3;
    const uint8_t* second = row + std::min(tap.first + 1, width - 1) * 3;
    for (int c = 0; c < 3; ++c) *out++ = first[c] * tap.first_weight + second[c] * tap.second_weight;
  }
}

Image halved(const Image& image) {
  Image half{image.width / 2, image.height / 2, {}};
  half.rgb.resize(half.width * half.height * 3);
  uint8_t* out = half.rgb.data();
  for (int64_t y = 0; y < half.height; ++y) {
    const uint8_t* upper = image.rgb.data() + 2 * y * image.width * 3;
    const uint8_t* lower = upper + image.width * 3;
    for (int64_t x = 0; x < half.width; ++x, upper += 6, lower += 6) {
      for (int c = 0; c < 3; ++c) {
        *out++ = static_cast<uint8_t>((upper[c] + upper[c + 3] + lower[c] + lower[c + 3] + 2) >> 2);
      }
    }
  }
  return half;
}

// Rows of the source interpolated along x, of which two neighbours are needed at a time.
class InterpolatedRows {
 public:
  InterpolatedRows(const Image& image, int64_t width) : image_(image), columns_(taps(image.width, width, true)) {}

  const std::vector<int32_t>& row(int64_t y) {
    y = std::clamp<int64_t>(y, 0, image_.height - 1);
    Row& row = rows_[y % 2];
    if (row.y != y) {
      row.y = y;
      row.values.resize(columns_.size() * 3);
      interpolate_row(image_.rgb.data() + y * image_.width * 3, image_.width, columns_, row.values.data());
    }
    return row.values;
  }

 private:
  struct Row {
    int64_t y = -1;
    std::vector<int32_t> values;
  };
  const Image& image_;
  std::vector<Taps> columns_;
  Row rows_[2];
};

}  // namespace

Image resize_bilinear(const Image& image, int64_t width, int64_t height) {
  if (width == image.width && height == image.height) return image;
  if (2 * width == image.width && 2 * height == image.height) return halved(image);
  Image result{width, height, {}};
  result.rgb.resize(width * height * 3);
  InterpolatedRows rows(image, width);
  uint8_t* out = result.rgb.data();
  for (const Taps& tap : taps(image.height, height, false)) {
    const std::vector<int32_t>& upper = rows.row(tap.first);
    const std::vector<int32_t>& lower = rows.row(tap.first + 1);
    for (size_t i = 0; i < upper.size(); ++i) {
      const int32_t sum = ((tap.first_weight * (upper[i] >> 4)) >> 16) + ((tap.second_weight * (lower[i] >> 4)) >> 16);
      *out++ = static_cast<uint8_t>((sum + 2) >> 2);
    }
  }
  return result;
}

}  // namespace lerobot::env
