#include "lerobot/dataset/video_decoder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "lerobot/core/error.hpp"
#include "video_stream.hpp"

namespace lerobot::dataset {

// The idle decoders of all files, the most recently used first.
class VideoFrames::Pool {
 public:
  explicit Pool(VideoFramesOptions options) : options_(options) {
    av_log_set_level(AV_LOG_QUIET);  // what FFmpeg has to say comes back as an error with the file's name
  }

  std::unique_ptr<VideoStream> check_out(const std::filesystem::path& file) {
    {
      const std::lock_guard lock(mutex_);
      for (auto idle = idle_.begin(); idle != idle_.end(); ++idle) {
        if (idle->first != file.native()) continue;
        auto stream = std::move(idle->second);
        idle_.erase(idle);
        return stream;
      }
    }
    return std::make_unique<VideoStream>(file, counters_);
  }

  void give_back(const std::filesystem::path& file, std::unique_ptr<VideoStream> stream) {
    std::list<Idle> evicted;  // closed after the lock is released
    const std::lock_guard lock(mutex_);
    idle_.emplace_front(file.native(), std::move(stream));
    while (idle_.size() > options_.max_idle_decoders) evicted.splice(evicted.end(), idle_, std::prev(idle_.end()));
  }

  VideoCounters counters() const {
    return {counters_.opened, counters_.seeks, counters_.packets, counters_.decoded, counters_.converted};
  }

 private:
  using Idle = std::pair<std::filesystem::path::string_type, std::unique_ptr<VideoStream>>;

  VideoFramesOptions options_;
  AtomicVideoCounters counters_;
  std::mutex mutex_;
  std::list<Idle> idle_;
};

namespace {

[[noreturn]] void refuse_distance(const std::filesystem::path& file, std::span<const double> wanted,
                                  std::span<const double> found, double tolerance_s) {
  throw UsageError(fmt::format(
      "video file {}: no frame within --tolerance_s={} of the wanted time. Wanted: [{:.9g}] s, nearest frames: "
      "[{:.9g}] s. The video and the timestamps of the data do not belong together, or frames were dropped while "
      "recording; leave the episode out with --dataset.episodes, or raise --tolerance_s if a shift is acceptable",
      file.string(), tolerance_s, fmt::join(wanted, ", "), fmt::join(found, ", ")));
}

// Decodes in the order of time, so that one pass forward serves a whole window.
void decode_all(VideoStream& stream, const std::filesystem::path& file, std::span<const double> timestamps,
                double tolerance_s, std::span<uint8_t> out, int64_t height, int64_t width) {
  std::vector<size_t> order(timestamps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return timestamps[a] < timestamps[b]; });

  const auto frame_bytes = static_cast<size_t>(3 * height * width);
  std::vector<double> wanted, found;
  bool too_far = false;
  for (size_t position = 0; position < order.size(); ++position) {
    const size_t index = order[position];
    const auto frame = out.subspan(index * frame_bytes, frame_bytes);
    if (position > 0 && timestamps[index] == timestamps[order[position - 1]]) {
      std::memcpy(frame.data(), out.data() + order[position - 1] * frame_bytes, frame_bytes);
      continue;
    }
    const auto time = stream.find(timestamps[index], tolerance_s);
    if (!time) throw UsageError(fmt::format("video file {} holds no frame", file.string()));
    wanted.push_back(timestamps[index]);
    found.push_back(*time);
    const float distance = std::abs(static_cast<float>(timestamps[index]) - static_cast<float>(*time));
    too_far = too_far || !(distance <= static_cast<float>(tolerance_s));
    if (!too_far) stream.convert(frame, height, width);
  }
  if (too_far) refuse_distance(file, wanted, found, tolerance_s);
}

}  // namespace

VideoFrames::VideoFrames(VideoFramesOptions options) : pool_(std::make_unique<Pool>(options)) {}
VideoFrames::~VideoFrames() = default;

void VideoFrames::read(const std::filesystem::path& file, std::span<const double> timestamps, double tolerance_s,
                       std::span<uint8_t> out, int64_t height, int64_t width) {
  TORCH_CHECK(height > 0 && width > 0 && out.size() == timestamps.size() * static_cast<size_t>(3 * height * width),
              "VideoFrames::read: out must hold timestamps x 3 x height x width bytes");
  auto stream = pool_->check_out(file);
  decode_all(*stream, file, timestamps, tolerance_s, out, height, width);
  pool_->give_back(file, std::move(stream));
}

VideoCounters VideoFrames::counters() const {
  return pool_->counters();
}

}  // namespace lerobot::dataset
