#include <algorithm>
#include <array>
#include <cmath>

#include "image_transform_operations.hpp"

namespace lerobot::dataset {
namespace {

// Luma as torchvision weighs it. Not integer arithmetic: where the weighted sum is a whole number, rounding decides
// on which side of it torch's result lies.
inline float gray_of(float red, float green, float blue) {
  return std::fma(blue, 0.114F, std::fma(green, 0.587F, red * 0.2989F));
}

inline float clamp_unit(float value) {
  return clamp_pixel(value, 1.0F);
}

// factor * x + (1 - factor) * other, as torchvision's blending rounds it.
struct Blend {
  explicit Blend(double factor) : factor(static_cast<float>(factor)), rest(static_cast<float>(1.0 - factor)) {}
  float operator()(float x, float other) const { return std::fma(other, rest, x * factor); }
  float factor;
  float rest;
};

LEROBOT_FOR_EACH_X86 void scale_pixels(uint8_t* pixels, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) pixels[i] = to_byte(pixels[i] * factor);
}

LEROBOT_FOR_EACH_X86 void scale_pixels(float* pixels, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) pixels[i] = clamp_unit(pixels[i] * factor);
}

LEROBOT_FOR_EACH_X86 void blend_pixels(uint8_t* pixels, int64_t count, Blend blend, float other) {
  for (int64_t i = 0; i < count; ++i) pixels[i] = to_byte(blend(pixels[i], other));
}

LEROBOT_FOR_EACH_X86 void blend_pixels(float* pixels, int64_t count, Blend blend, float other) {
  for (int64_t i = 0; i < count; ++i) pixels[i] = clamp_unit(blend(pixels[i], other));
}

// Sum of gray values rounded down. At most 2^23 pixels.
LEROBOT_FOR_EACH_X86 int32_t sum_gray(const uint8_t* red, const uint8_t* green, const uint8_t* blue, int64_t count) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<int32_t>(gray_of(red[i], green[i], blue[i]));
  return sum;
}

LEROBOT_FOR_EACH_X86 float sum_gray(const float* red, const float* green, const float* blue, int64_t count) {
  constexpr int64_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += gray_of(red[i + lane], green[i + lane], blue[i + lane]);
  }
  float sum = 0.0F;
  for (; i < count; ++i) sum += gray_of(red[i], green[i], blue[i]);
  for (const float lane : lanes) sum += lane;
  return sum;
}

// Row by row, which keeps every partial sum small enough for its type.
template <typename Pixel>
float mean_gray(const ImageView<Pixel>& image) {
  double sum = 0.0;
  for (int64_t row = 0; row < image.height; ++row) {
    const auto row_of = [&](int64_t channel) { return image.channel(channel).data() + row * image.width; };
    if (image.channels == 3) {
      sum += static_cast<double>(sum_gray(row_of(0), row_of(1), row_of(2), image.width));
    } else {
      for (int64_t x = 0; x < image.width; ++x) sum += static_cast<double>(row_of(0)[x]);
    }
  }
  return static_cast<float>(sum) / static_cast<float>(image.height * image.width);
}

LEROBOT_FOR_EACH_X86 void saturate(uint8_t* __restrict red, uint8_t* __restrict green, uint8_t* __restrict blue,
                                   int64_t count, Blend blend) {
  for (int64_t i = 0; i < count; ++i) {
    const auto gray = static_cast<float>(static_cast<int32_t>(gray_of(red[i], green[i], blue[i])));
    red[i] = to_byte(blend(red[i], gray));
    green[i] = to_byte(blend(green[i], gray));
    blue[i] = to_byte(blend(blue[i], gray));
  }
}

LEROBOT_FOR_EACH_X86 void saturate(float* __restrict red, float* __restrict green, float* __restrict blue,
                                   int64_t count, Blend blend) {
  for (int64_t i = 0; i < count; ++i) {
    const float gray = gray_of(red[i], green[i], blue[i]);
    red[i] = clamp_unit(blend(red[i], gray));
    green[i] = clamp_unit(blend(green[i], gray));
    blue[i] = clamp_unit(blend(blue[i], gray));
  }
}

inline float fraction(float value) {
  return value - static_cast<float>(static_cast<int32_t>(value));
}

inline float weight(bool condition) {
  return condition ? 1.0F : 0.0F;
}

struct Rgb {
  float red;
  float green;
  float blue;
};

// To HSV (Pillow's formulas), the hue turned, and back. In every step the operations and roundings of torchvision's
// _rgb_to_hsv and _hsv_to_rgb; channels from 0 to 1.
inline Rgb turn_hue(Rgb in, float turns) {
  const float high = std::max(std::max(in.red, in.green), in.blue);
  const float low = std::min(std::min(in.red, in.green), in.blue);
  const bool is_gray = high == low;
  const float range = high - low;
  const float saturation = range / (is_gray ? 1.0F : high);
  const float divisor = is_gray ? 1.0F : range;
  const float red = (high - in.red) / divisor;
  const float green = (high - in.green) / divisor;
  const float blue = (high - in.blue) / divisor;
  // Of the three cases one has weight 1 and the others 0, which is exact and needs no branch.
  const float is_red = weight(high == in.red);
  const float is_green = weight(high == in.green) * (1.0F - is_red);
  const float is_blue = 1.0F - is_red - is_green;
  const float sixths = (blue - green) * is_red + (red + 2.0F - blue) * is_green + (green + 4.0F - red) * is_blue;
  const float turned = fraction(fraction(sixths * (1.0F / 6.0F) + 1.0F) + turns);
  const float hue = turned + weight(turned < 0.0F);  // 0 … 1, 1 included

  const float hue6 = hue * 6.0F;
  const auto sector = static_cast<int32_t>(hue6);
  const float within = hue6 - static_cast<float>(sector);
  const float part = saturation * within;
  const float rest = 1.0F - saturation;
  const float p = clamp_unit(rest * high);
  const float q = clamp_unit((1.0F - part) * high);
  const float t = clamp_unit((part + rest) * high);
  // Sector   0 1 2 3 4 5 (6 is 0 again)
  //   red    v q p p t v
  //   green  t v v q p p
  //   blue   p p t v v q
  const float s0 = weight(sector == 0) + weight(sector == 6);
  const float s1 = weight(sector == 1);
  const float s2 = weight(sector == 2);
  const float s3 = weight(sector == 3);
  const float s4 = weight(sector == 4);
  const float s5 = weight(sector == 5);
  return {high * (s5 + s0) + q * s1 + p * (s2 + s3) + t * s4,  //
          high * (s1 + s2) + q * s3 + p * (s4 + s5) + t * s0,  //
          high * (s3 + s4) + q * s5 + p * (s0 + s1) + t * s2};
}

LEROBOT_FOR_EACH_X86 void turn_hues(uint8_t* __restrict red, uint8_t* __restrict green, uint8_t* __restrict blue,
                                    int64_t count, float turns) {
  constexpr float kToUnit = 1.0F / 255.0F;
  constexpr float kToByte = 255.999F;  // so that only 1 itself needs rounding to reach 255
  for (int64_t i = 0; i < count; ++i) {
    const Rgb out = turn_hue({static_cast<float>(red[i]) * kToUnit, static_cast<float>(green[i]) * kToUnit,
                              static_cast<float>(blue[i]) * kToUnit},
                             turns);
    red[i] = to_byte(out.red * kToByte);
    green[i] = to_byte(out.green * kToByte);
    blue[i] = to_byte(out.blue * kToByte);
  }
}

LEROBOT_FOR_EACH_X86 void turn_hues(float* __restrict red, float* __restrict green, float* __restrict blue,
                                    int64_t count, float turns) {
  for (int64_t i = 0; i < count; ++i) {
    const Rgb out = turn_hue({red[i], green[i], blue[i]}, turns);
    red[i] = out.red;
    green[i] = out.green;
    blue[i] = out.blue;
  }
}

}  // namespace

template <typename Pixel>
void apply(const Brightness& brightness, const ImageView<Pixel>& image) {
  scale_pixels(image.pixels.data(), std::ssize(image.pixels), static_cast<float>(brightness.factor));
}
template void apply(const Brightness&, const ImageView<uint8_t>&);
template void apply(const Brightness&, const ImageView<float>&);

template <typename Pixel>
void apply(const Contrast& contrast, const ImageView<Pixel>& image) {
  blend_pixels(image.pixels.data(), std::ssize(image.pixels), Blend(contrast.factor), mean_gray(image));
}
template void apply(const Contrast&, const ImageView<uint8_t>&);
template void apply(const Contrast&, const ImageView<float>&);

template <typename Pixel>
void apply(const Saturation& saturation, const ImageView<Pixel>& image) {
  if (image.channels != 3) return;
  saturate(image.channel(0).data(), image.channel(1).data(), image.channel(2).data(), image.height * image.width,
           Blend(saturation.factor));
}
template void apply(const Saturation&, const ImageView<uint8_t>&);
template void apply(const Saturation&, const ImageView<float>&);

template <typename Pixel>
void apply(const Hue& hue, const ImageView<Pixel>& image) {
  if (image.channels != 3) return;
  turn_hues(image.channel(0).data(), image.channel(1).data(), image.channel(2).data(), image.height * image.width,
            static_cast<float>(hue.turns));
}
template void apply(const Hue&, const ImageView<uint8_t>&);
template void apply(const Hue&, const ImageView<float>&);

}  // namespace lerobot::dataset
