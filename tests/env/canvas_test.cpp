// CRC-32s of what pygame 2.6.1 draws on a grey (200, 200, 200) surface of 70 x 45.
#include "canvas.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "golden_pusht.hpp"

namespace lerobot::env {
namespace {

template <typename Draw>
uint32_t digest_of(const Draw& draw) {
  Image image{70, 45, std::vector<uint8_t>(70 * 45 * 3, 200)};
  Canvas canvas(image);
  draw(canvas);
  return crc32(std::as_bytes(std::span(image.rgb)));
}

struct GoldenLine {
  Pixel from, to;
  uint32_t digest;
};

std::ostream& operator<<(std::ostream& out, const GoldenLine& line) {
  return out << "(" << line.from.x << ", " << line.from.y << ") - (" << line.to.x << ", " << line.to.y << ")";
}

TEST(Canvas, DrawsThickLinesAsPygameDoes) {
  const GoldenLine lines[] = {
      {{10, 10}, {50, 30}, 0x5d299e0},  {{10, 30}, {20, 12}, 0x76086c81}, {{40, 20}, {40, 20}, 0x3be25892},
      {{13, 87}, {12, 3}, 0x8f9f9933},  {{84, 32}, {52, 6}, 0x942a64ca},  {{20, -11}, {-30, 33}, 0x5480a0bf},
      {{-5, -9}, {90, 80}, 0x6cb9a8ec}, {{-3, 20}, {80, 20}, 0xd5c2724},
  };
  for (const GoldenLine& line : lines) {
    EXPECT_EQ(digest_of([&](Canvas& canvas) {
                canvas.thick_line(line.from, line.to, 4, {10, 20, 30});
              }),
              line.digest)
        << line;
  }
}

TEST(Canvas, DrawsSmoothLinesAsPygameDoes) {
  const GoldenLine lines[] = {
      {{10, 10}, {50, 30}, 0xf53c18ca}, {{10, 30}, {20, 12}, 0xe050b26b}, {{40, 20}, {40, 20}, 0xb81128e1},
      {{25, 5}, {25, 17}, 0xc8864de3},  {{40, -6}, {9, 5}, 0x2feb53ee},   {{18, 1}, {80, -5}, 0xb53119b3},
      {{-3, -8}, {2, 67}, 0xc5686fad},  {{69, 44}, {75, 50}, 0x1a6f7504}, {{80, 10}, {90, 12}, 0xcc411f93},
  };
  for (const GoldenLine& line : lines) {
    EXPECT_EQ(digest_of([&](Canvas& canvas) {
                canvas.smooth_line(line.from, line.to, {231, 76, 60});
              }),
              line.digest)
        << line;
  }
}

TEST(Canvas, FillsDiscsAsPygameDoes) {
  const auto disc = [](Pixel center, int radius) {
    return digest_of([&](Canvas& canvas) { canvas.fill_disc(center, radius, {1, 2, 3}); });
  };
  EXPECT_EQ(disc({30, 20}, 15), 0xf976b3d9);
  EXPECT_EQ(disc({30, 20}, 11), 0x8557e575);
  EXPECT_EQ(disc({2, 3}, 2), 0xb925156f);
  EXPECT_EQ(disc({0, 44}, 15), 0x0fd2efe6U);
  EXPECT_EQ(disc({100, 100}, 15), digest_of([](Canvas&) {}));
}

TEST(Canvas, FillsQuadrilateralsAsPygameDoes) {
  const auto quadrilateral = [](const std::array<Pixel, 4>& corners) {
    return digest_of([&](Canvas& canvas) { canvas.fill_quadrilateral(corners, {1, 2, 3}); });
  };
  EXPECT_EQ(quadrilateral({{{10, 5}, {60, 12}, {55, 40}, {5, 33}}}), 0xe987763b);
  EXPECT_EQ(quadrilateral({{{10, 5}, {60, 5}, {60, 40}, {10, 40}}}), 0xbf81ff09);
  EXPECT_EQ(quadrilateral({{{-20, 10}, {30, -20}, {90, 20}, {35, 60}}}), 0x45d4e7b0U);
  EXPECT_EQ(quadrilateral({{{10, 10}, {12, 12}, {40, 40}, {38, 38}}}), 0x8a2d1345);
  EXPECT_EQ(quadrilateral({{{5, 20}, {30, 10}, {40, 20}, {20, 30}}}), 0x2e9a71a1U);
}

TEST(NearestPixel, RoundsHalvesToEvenAndStaysInReach) {
  EXPECT_EQ(nearest_pixel(2.5, 3.5), (Pixel{2, 4}));
  EXPECT_EQ(nearest_pixel(-0.5, -1.5), (Pixel{0, -2}));
  EXPECT_EQ(nearest_pixel(1e30, -1e30), (Pixel{1 << 20, -(1 << 20)}));
}

}  // namespace
}  // namespace lerobot::env
