// CRC-32s of what OpenCV 4.14 computes.
#include "image_resize.hpp"

#include <gtest/gtest.h>

#include "golden_pusht.hpp"
#include "pusht_raster.hpp"

namespace lerobot::env {
namespace {

Image pattern(int64_t width, int64_t height) {
  Image image{width, height, std::vector<uint8_t>(width * height * 3)};
  for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<uint8_t>((i * i * 31 + i * 7) % 251);
  return image;
}

uint32_t digest(const Image& image) {
  return crc32(std::as_bytes(std::span(image.rgb)));
}

TEST(ResizeBilinear, EqualsOpenCvs) {
  struct Case {
    int64_t width, height, to_width, to_height;
    uint32_t digest;
  };
  const Case cases[] = {
      {8, 6, 3, 2, 0xc7bb882a},   {8, 6, 5, 9, 0x807ee9a4},
      {8, 6, 21, 13, 0x918051f8}, {8, 6, 4, 3, 0x4a77233f},  // both sides halved: the mean of 2 x 2
      {8, 6, 4, 5, 0xf9cf1a53},   {8, 6, 8, 3, 0x881b456f},
      {8, 6, 16, 12, 0x1f6b0651}, {1, 1, 4, 4, 0xb769996d},
  };
  for (const auto& [width, height, to_width, to_height, expected] : cases) {
    const Image resized = resize_bilinear(pattern(width, height), to_width, to_height);
    EXPECT_EQ(resized.width, to_width);
    EXPECT_EQ(resized.height, to_height);
    EXPECT_EQ(digest(resized), expected) << width << " x " << height << " to " << to_width << " x " << to_height;
  }
}

TEST(ResizeBilinear, LeavesAPictureOfTheRightSizeAlone) {
  EXPECT_EQ(resize_bilinear(pattern(8, 6), 8, 6).rgb, pattern(8, 6).rgb);
}

TEST(ActionMarker, EqualsOpenCvsCross) {
  struct Case {
    int64_t width, height;
    Point action;
    uint32_t digest;
  };
  const Case cases[] = {
      {96, 96, {256, 256}, 0x1238a643},       {200, 120, {400, 64}, 0x853db044},  {384, 384, {3, 508}, 0x391cdc98},
      {480, 640, {500.5, 90.25}, 0x22647da0}, {680, 680, {-20, 530}, 0x36328bf1}, {680, 680, {256, 256}, 0x9f106758},
  };
  for (const auto& [width, height, action, expected] : cases) {
    Image image{width, height, std::vector<uint8_t>(width * height * 3, 7)};
    draw_action_marker(image, action);
    EXPECT_EQ(digest(image), expected) << width << " x " << height << " at (" << action.x << ", " << action.y << ")";
  }
}

TEST(ActionMarker, IsInvisibleFarAway) {
  Image image{384, 384, std::vector<uint8_t>(384 * 384 * 3, 7)};
  draw_action_marker(image, {3e38, -3e38});
  EXPECT_EQ(image.rgb, std::vector<uint8_t>(384 * 384 * 3, 7));
}

}  // namespace
}  // namespace lerobot::env
