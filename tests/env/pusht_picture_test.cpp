// Pictures, pixel by pixel, through the environment.
#include <gtest/gtest.h>

#include <algorithm>

#include "golden_pusht.hpp"

namespace lerobot::env {
namespace {

uint32_t digest(const Image& image) {
  return crc32(std::as_bytes(std::span(image.rgb)));
}

Image as_image(const Array& array) {
  const auto pixels = array.uint8();
  return {array.shape.at(1), array.shape.at(0), {pixels.begin(), pixels.end()}};
}

// One episode in two environments, which together give all four pictures.
class Pictures {
 public:
  explicit Pictures(const GoldenTrajectory& trajectory)
      : large_({.obs_type = PushTObsType::kPixels,
                .observation_width = 512,
                .observation_height = 512,
                .visualization_width = 384,
                .visualization_height = 384}),
        small_({.obs_type = PushTObsType::kPixelsAgentPos}) {
    raw512_ = reset(large_, trajectory).observation.at("");
    obs96_ = reset(small_, trajectory).observation.at("pixels");
  }
  void step(const std::array<double, 2>& action) {
    raw512_ = large_.step(action).observation.at("");
    obs96_ = small_.step(action).observation.at("pixels");
  }
  Image get(const std::string& kind) {
    if (kind == "raw512") return as_image(raw512_);
    if (kind == "obs96") return as_image(obs96_);
    return kind == "vis384" ? large_.render() : small_.render();
  }

 private:
  PushT large_, small_;
  Array raw512_, obs96_;
};

// A picture that the tree holds, so that a difference can be located.
void expect_same_pixels(const Image& image, const std::string& file) {
  const Image expected = read_golden_picture(file);
  ASSERT_EQ(image.width, expected.width);
  ASSERT_EQ(image.height, expected.height);
  const auto [ours, theirs] = std::mismatch(image.rgb.begin(), image.rgb.end(), expected.rgb.begin());
  if (ours == image.rgb.end()) return;
  const auto at = std::distance(image.rgb.begin(), ours) / 3;
  ADD_FAILURE() << file << ": pixel (" << at % image.width << ", " << at / image.width << ") is the first to differ";
}

TEST(PushTPicture, EqualsPygameAndOpenCvInEveryPixel) {
  if (!kChipmunkIsBitExact) GTEST_SKIP() << "this machine's Chipmunk rounds differently, so the scenes differ";
  int compared = 0;
  for (const GoldenTrajectory& trajectory : golden_trajectories()) {
    Pictures pictures(trajectory);
    size_t step = 0;
    for (const auto& [at_step, digests] : trajectory.pictures) {
      for (; step < static_cast<size_t>(at_step); ++step) pictures.step(trajectory.actions[step]);
      for (const auto& [kind, expected] : digests) {
        EXPECT_EQ(digest(pictures.get(kind)), expected) << kind << " of " << trajectory.name << " after step " << step;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 1000);
}

TEST(PushTPicture, EqualsTheStoredPictures) {
  if (!kChipmunkIsBitExact) GTEST_SKIP() << "this machine's Chipmunk rounds differently, so the scenes differ";
  int compared = 0;
  for (const GoldenTrajectory& trajectory : golden_trajectories()) {
    Pictures pictures(trajectory);
    size_t step = 0;
    for (const auto& [at_step, digests] : trajectory.pictures) {
      for (; step < static_cast<size_t>(at_step); ++step) pictures.step(trajectory.actions[step]);
      for (const auto& [kind, expected] : digests) {
        const std::string number = std::to_string(1000 + at_step).substr(1);
        const std::string file = trajectory.name + "_step" + number + "_" + kind + ".png";
        if (!std::filesystem::exists(golden_pusht_folder() / "pictures" / file)) continue;
        expect_same_pixels(pictures.get(kind), file);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 16);
}

}  // namespace
}  // namespace lerobot::env
