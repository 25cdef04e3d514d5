// A finished video, read back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lerobot::eval {

// Number of frames; fails the test when the file is not a video of `side` x `side` at `fps`.
int64_t count_frames(const std::filesystem::path& file, double fps, int64_t height, int64_t width);

// Mean over the pixels of frame `index`, one for each of red, green and blue.
std::vector<double> mean_colour(const std::filesystem::path& file, int64_t index, double fps, int64_t height,
                                int64_t width);

}  // namespace lerobot::eval
