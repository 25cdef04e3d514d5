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

// Rows of the source interpolated along x, times 2^7 (OpenCV's 2^11, shifted as its next step begins), of which two
// neighbours are needed at a time. Samples are gathered first: the arithmetic then runs over plain rows of numbers.
class InterpolatedRows {
 public:
  InterpolatedRows(const Image& image, int64_t width)
      : image_(image), columns_(taps(image.width, width, true)), first_(width * 3), second_(width * 3) {
    for (const Taps& tap : columns_) {
      first_weights_.insert(first_weights_.end(), 3, static_cast<int16_t>(tap.first_weight));
      second_weights_.insert(second_weights_.end(), 3, static_cast<int16_t>(tap.second_weight));
    }
  }

  const std::vector<int16_t>& row(int64_t y) {
    y = std::clamp<int64_t>(y, 0, image_.height - 1);
    Row& row = rows_[y % 2];
    if (row.y != y) {
      row.y = y;
      gather(image_.rgb.data() + y * image_.width * 3);
      row.values.resize(first_.size());
      for (size_t i = 0; i < first_.size(); ++i) {
        row.values[i] = static_cast<int16_t>((first_[i] * first_weights_[i] + second_[i] * second_weights_[i]) >> 4);
      }
    }
    return row.values;
  }

 private:
  struct Row {
    int64_t y = -1;
    std::vector<int16_t> values;
  };

  void gather(const uint8_t* row) {
    uint8_t* first = first_.data();
    uint8_t* second = second_.data();
    for (const Taps& tap : columns_) {
      first = std::copy_n(row + tap.first * 3, 3, first);
      second = std::copy_n(row + std::min(tap.first + 1, image_.width - 1) * 3, 3, second);
    }
  }

  const Image& image_;
  std::vector<Taps> columns_;
  std::vector<int16_t> first_weights_;
  std::vector<int16_t> second_weights_;
  std::vector<uint8_t> first_;  // samples of the row under way, as is the next
  std::vector<uint8_t> second_;
  Row rows_[2];
};

// Two such rows interpolated along y.
void blend(const int16_t* upper, const int16_t* lower, const Taps& tap, size_t count, uint8_t* out) {
  const auto upper_weight = static_cast<int16_t>(tap.first_weight);
  const auto lower_weight = static_cast<int16_t>(tap.second_weight);
  for (size_t i = 0; i < count; ++i) {
    const auto above = static_cast<int16_t>((upper[i] * upper_weight) >> 16);
    const auto below = static_cast<int16_t>((lower[i] * lower_weight) >> 16);
    out[i] = static_cast<uint8_t>(static_cast<int16_t>(above + below + 2) >> 2);
  }
}

}  // namespace

Image resize_bilinear(const Image& image, int64_t width, int64_t height) {
  if (width == image.width && height == image.height) return image;
  if (2 * width == image.width && 2 * height == image.height) return halved(image);
  Image result{width, height, {}};
  result.rgb.resize(width * height * 3);
  InterpolatedRows rows(image, width);
  uint8_t* out = result.rgb.data();
  for (const Taps& tap : taps(image.height, height, false)) {
    const std::vector<int16_t>& upper = rows.row(tap.first);
    const std::vector<int16_t>& lower = rows.row(tap.first + 1);
    blend(upper.data(), lower.data(), tap, upper.size(), out);
    out += upper.size();
  }
  return result;
}

}  // namespace lerobot::env
