#include <algorithm>
#include <cmath>
#include <vector>

#include "image_transform_operations.hpp"

namespace lerobot::dataset {
namespace {

// One row of the inside. Blurred: the 3x3 neighbours weigh 1/13 each, the pixel itself 5/13, rounded (a half cannot
// occur: 13 is odd). `above` and `here` are the rows before any change; `columns` is scratch, `count` long.
LEROBOT_FOR_EACH_X86 void sharpen_row(const uint8_t* __restrict above, const uint8_t* __restrict here,
                                      const uint8_t* __restrict below, uint8_t* __restrict out,
                                      uint16_t* __restrict columns, int64_t count, float blur) {
  for (int64_t x = 0; x < count; ++x) columns[x] = static_cast<uint16_t>(above[x] + here[x] + below[x]);
  for (int64_t x = 1; x + 1 < count; ++x) {
    const auto sum = static_cast<uint16_t>(columns[x - 1] + columns[x] + columns[x + 1] + 4 * here[x]);
    const int32_t blurred = static_cast<uint16_t>(sum + 6) / 13;
    const auto sharp = std::fma(static_cast<float>(blurred - here[x]), blur, static_cast<float>(here[x]));
    out[x] = to_byte(sharp);
  }
}

LEROBOT_FOR_EACH_X86 void sharpen_row(const float* __restrict above, const float* __restrict here,
                                      const float* __restrict below, float* __restrict out, float* __restrict columns,
                                      int64_t count, float blur) {
  constexpr float kNeighbour = 1.0F / 13.0F;
  constexpr float kMoreForCenter = 4.0F / 13.0F;
  for (int64_t x = 0; x < count; ++x) columns[x] = (above[x] + here[x] + below[x]) * kNeighbour;
  for (int64_t x = 1; x + 1 < count; ++x) {
    const float blurred = columns[x - 1] + columns[x] + columns[x + 1] + here[x] * kMoreForCenter;
    const float sharp = std::fma(blurred - here[x], blur, here[x]);
    out[x] = clamp_pixel(sharp, 1.0F);
  }
}

template <typename Pixel>
struct ColumnSum {
  using Type = float;
};
template <>
struct ColumnSum<uint8_t> {
  using Type = uint16_t;
};

}  // namespace

// The outermost pixels have no 3x3 neighbours and stay as they are.
template <typename Pixel>
void apply(const Sharpness& sharpness, const ImageView<Pixel>& image) {
  if (image.height <= 2 || image.width <= 2) return;
  const auto blur = static_cast<float>(1.0 - sharpness.factor);
  std::vector<Pixel> above(image.width);
  std::vector<Pixel> here(image.width);
  std::vector<typename ColumnSum<Pixel>::Type> columns(image.width);
  for (int64_t channel = 0; channel < image.channels; ++channel) {
    Pixel* row = image.channel(channel).data();
    std::copy_n(row, image.width, here.begin());
    for (int64_t y = 1; y + 1 < image.height; ++y) {
      row += image.width;
      std::swap(above, here);
      std::copy_n(row, image.width, here.begin());
      sharpen_row(above.data(), here.data(), row + image.width, row, columns.data(), image.width, blur);
    }
  }
}
template void apply(const Sharpness&, const ImageView<uint8_t>&);
template void apply(const Sharpness&, const ImageView<float>&);

}  // namespace lerobot::dataset
