// Random access to the frames of mp4 files by timestamp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace lerobot::dataset {

struct VideoFramesOptions {
  // Open decoders kept for the next caller, over all files; the least recently used is closed first. Each holds a file
  // descriptor and a few frames of memory.
  size_t max_idle_decoders = 64;
};

// Work done since construction. Tests assert on these instead of on time.
struct VideoCounters {
  int64_t opened = 0;     // decoders opened
  int64_t seeks = 0;      // container seeks
  int64_t packets = 0;    // packets handed to a decoder
  int64_t decoded = 0;    // frames that came out of a decoder
  int64_t converted = 0;  // frames converted to RGB
};

// Thread-safe. Each caller checks out a decoder of its own, so callers decode in parallel and none waits for another;
// a decoder itself runs on the calling thread alone, so that loader threads do not multiply.
class VideoFrames {
 public:
  explicit VideoFrames(VideoFramesOptions options = {});
  ~VideoFrames();
  VideoFrames(const VideoFrames&) = delete;
  VideoFrames& operator=(const VideoFrames&) = delete;

  // Decodes, for each of T timestamps (seconds in the file, any order, repeats allowed), the frame whose presentation
  // time is nearest, both taken as float32 as LeRobot compares them.
  // `out`: T x 3 x height x width uint8, RGB planes. Pixels equal libswscale's default conversion to rgb24, with the
  // colour matrix and range that the frame is tagged with (untagged: BT.601, limited).
  //
  // Throws UsageError naming the file when it is absent, unreadable, not a video, cut short, of another size than
  // height x width, in a codec that this FFmpeg cannot decode, or when a nearest frame is farther away than
  // `tolerance_s`; RunError naming the file and the time when the stream breaks while decoding.
  void read(const std::filesystem::path& file, std::span<const double> timestamps, double tolerance_s,
            std::span<uint8_t> out, int64_t height, int64_t width);

  VideoCounters counters() const;

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace lerobot::dataset
