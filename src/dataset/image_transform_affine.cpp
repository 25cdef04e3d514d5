#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "image_transform_operations.hpp"

namespace lerobot::dataset {
namespace {

// Where a pixel of the result comes from, in units of half an image and from its middle: x = xx * x' + xy * y' + x0 for
// the result's x', y' in pixels from the middle.
struct Sampling {
  float xx, xy, x0;
  float yx, yy, y0;
};

// The inverse of T C R S H C^-1 (translation, center, rotation, scale, shear), as torchvision computes it.
Sampling sampling_of(const Affine& affine, int64_t height, int64_t width) {
  constexpr double kRadians = std::numbers::pi / 180.0;
  const double rotation = affine.degrees * kRadians;
  const double shear_x = affine.shear_x * kRadians;
  const double shear_y = affine.shear_y * kRadians;
  const double a = std::cos(rotation - shear_y) / std::cos(shear_y);
  const double b = -(a * std::tan(shear_x) + std::sin(rotation));
  const double c = std::sin(rotation - shear_y) / std::cos(shear_y);
  const double d = std::cos(rotation) - c * std::tan(shear_x);
  const double center_x = affine.center ? (*affine.center)[0] - static_cast<double>(width) * 0.5 : 0.0;
  const double center_y = affine.center ? (*affine.center)[1] - static_cast<double>(height) * 0.5 : 0.0;
  const double from_x = center_x + affine.translate_x;
  const double from_y = center_y + affine.translate_y;
  const double xx = d / affine.scale;
  const double xy = -b / affine.scale;
  const double yx = -c / affine.scale;
  const double yy = a / affine.scale;
  const double x0 = center_x - xx * from_x - xy * from_y;
  const double y0 = center_y - yx * from_x - yy * from_y;
  const float half_width = 0.5F * static_cast<float>(width);
  const float half_height = 0.5F * static_cast<float>(height);
  const auto scaled = [](double value, float half) { return static_cast<float>(value) / half; };
  return {scaled(xx, half_width),  scaled(xy, half_width),  scaled(x0, half_width),
          scaled(yx, half_height), scaled(yy, half_height), scaled(y0, half_height)};
}

// Half to even; exact below 2^22, beyond which lies no image.
inline float round_to_even(float value) {
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: no room for a fraction beside it
  return (value + kShift) - kShift;
}

// Source columns and rows, in pixels, for one row of the result.
LEROBOT_FOR_EACH_X86 void source_coordinates(const Sampling& at, int64_t row, int64_t height, int64_t width,
                                             float* __restrict xs, float* __restrict ys) {
  const float half_width = static_cast<float>(width) * 0.5F;
  const float half_height = static_cast<float>(height) * 0.5F;
  const float y = static_cast<float>(row) - (half_height - 0.5F);
  for (int64_t column = 0; column < width; ++column) {
    const float x = static_cast<float>(static_cast<int32_t>(column)) - (half_width - 0.5F);
    const float from_x = (x * at.xx + y * at.xy) + at.x0;
    const float from_y = (x * at.yx + y * at.yy) + at.y0;
    xs[column] = (from_x + 1.0F) * half_width - 0.5F;
    ys[column] = (from_y + 1.0F) * half_height - 0.5F;
  }
}

// The index of the nearest pixel, or height * width where that lies outside.
LEROBOT_FOR_EACH_X86 void nearest_pixels(const float* __restrict xs, const float* __restrict ys, int64_t height,
                                         int64_t width, int32_t* __restrict pixels) {
  const auto last_x = static_cast<float>(width - 1);
  const auto last_y = static_cast<float>(height - 1);
  const auto outside = static_cast<int32_t>(height * width);
  const auto row = static_cast<int32_t>(width);
  for (int64_t i = 0; i < width; ++i) {
    const float x = round_to_even(xs[i]);
    const float y = round_to_even(ys[i]);
    const bool is_inside = (x >= 0.0F) & (x <= last_x) & (y >= 0.0F) & (y <= last_y);
    const auto column = static_cast<int32_t>(is_inside ? x : 0.0F);
    const auto line = static_cast<int32_t>(is_inside ? y : 0.0F);
    pixels[i] = is_inside ? line * row + column : outside;
  }
}

template <typename Pixel>
Pixel to_pixel(float value) {
  if constexpr (std::is_same_v<Pixel, float>)
    return value;
  else
    return static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0F, 255.0F));
}

float fill_of(const Affine& affine, int64_t channel) {
  if (!affine.fill) return 0.0F;
  return static_cast<float>(affine.fill->size() == 1 ? affine.fill->front() : (*affine.fill)[channel]);
}

// The weighted mean of the four pixels around (x, y); those outside count as 0 and lower `coverage`, the weight inside.
template <typename Pixel>
float bilinear(const Pixel* source, int64_t height, int64_t width, float x, float y, float& coverage) {
  const float left = std::floor(x);
  const float top = std::floor(y);
  float value = 0.0F;
  coverage = 0.0F;
  const auto add = [&](float column, float row, float weight) {
    if (!(column >= 0.0F && column < static_cast<float>(width) && row >= 0.0F && row < static_cast<float>(height)))
      return;
    value += static_cast<float>(source[static_cast<int64_t>(row) * width + static_cast<int64_t>(column)]) * weight;
    coverage += weight;
  };
  add(left, top, (left + 1.0F - x) * (top + 1.0F - y));
  add(left + 1.0F, top, (x - left) * (top + 1.0F - y));
  add(left, top + 1.0F, (left + 1.0F - x) * (y - top));
  add(left + 1.0F, top + 1.0F, (x - left) * (y - top));
  return value;
}

}  // namespace

template <typename Pixel>
void apply(const Affine& affine, const ImageView<Pixel>& image) {
  const Sampling sampling = sampling_of(affine, image.height, image.width);
  const int64_t plane = image.height * image.width;
  // Each channel as it was, and after it the fill.
  std::vector<Pixel> source((plane + 1) * image.channels);
  for (int64_t channel = 0; channel < image.channels; ++channel) {
    auto* of_channel = source.data() + channel * (plane + 1);
    std::copy_n(image.channel(channel).data(), plane, of_channel);
    of_channel[plane] = to_pixel<Pixel>(fill_of(affine, channel));
  }
  std::vector<float> xs(image.width);
  std::vector<float> ys(image.width);
  std::vector<int32_t> nearest(image.width);
  for (int64_t row = 0; row < image.height; ++row) {
    source_coordinates(sampling, row, image.height, image.width, xs.data(), ys.data());
    if (!affine.is_bilinear) nearest_pixels(xs.data(), ys.data(), image.height, image.width, nearest.data());
    for (int64_t channel = 0; channel < image.channels; ++channel) {
      const Pixel* from = source.data() + channel * (plane + 1);
      Pixel* to = image.channel(channel).data() + row * image.width;
      if (!affine.is_bilinear) {
        for (int64_t x = 0; x < image.width; ++x) to[x] = from[nearest[x]];
        continue;
      }
      const float fill = fill_of(affine, channel);
      for (int64_t x = 0; x < image.width; ++x) {
        float coverage = 0.0F;
        const float value = bilinear(from, image.height, image.width, xs[x], ys[x], coverage);
        to[x] = to_pixel<Pixel>(affine.fill ? (value - fill) * coverage + fill : value);
      }
    }
  }
}
template void apply(const Affine&, const ImageView<uint8_t>&);
template void apply(const Affine&, const ImageView<float>&);

}  // namespace lerobot::dataset
