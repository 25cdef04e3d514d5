#include "eval/video_file.hpp"

#include <array>
#include <numeric>

#include "lerobot/core/error.hpp"
#include "lerobot/dataset/video_decoder.hpp"

namespace lerobot::eval {

int64_t count_frames(const std::filesystem::path& file, double fps, int64_t height, int64_t width) {
  dataset::VideoFrames frames;
  std::vector<uint8_t> pixels(static_cast<size_t>(3 * height * width));
  for (int64_t index = 0;; ++index) {
    const std::array times{static_cast<double>(index) / fps};
    try {
      frames.read(file, times, 1e-3, pixels, height, width);
    } catch (const UsageError&) {
      // Past the last frame; a broken file does not even give the first.
      if (index == 0) throw;
      return index;
    }
  }
}

std::vector<double> mean_colour(const std::filesystem::path& file, int64_t index, double fps, int64_t height,
                                int64_t width) {
  dataset::VideoFrames frames;
  std::vector<uint8_t> pixels(static_cast<size_t>(3 * height * width));
  const std::array times{static_cast<double>(index) / fps};
  frames.read(file, times, 1e-3, pixels, height, width);
  std::vector<double> means;
  for (int64_t channel = 0; channel < 3; ++channel) {
    const auto begin = pixels.begin() + channel * height * width;
    means.push_back(std::accumulate(begin, begin + height * width, 0.0) / static_cast<double>(height * width));
  }
  return means;
}

}  // namespace lerobot::eval
