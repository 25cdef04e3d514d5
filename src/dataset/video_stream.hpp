// One open video file and its decoder, on the calling thread alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "ffmpeg.hpp"
#include "video_counters.hpp"
#include "video_pixels.hpp"

namespace lerobot::dataset {

// Not thread-safe. After an exception the stream's position is undefined: throw the object away.
class VideoStream {
 public:
  // Throws UsageError naming the file: absent, unreadable, not a video, cut short, no decoder for its codec.
  VideoStream(std::filesystem::path file, AtomicVideoCounters& counters);

  // Finds the frame whose presentation time is nearest to `seconds` and keeps it for convert(). Continues from where it
  // stands when no later sync sample leads there sooner. `tolerance_s` only says how exact an exact hit has to be.
  // Returns its presentation time in seconds; nullopt when the file holds no frame at all.
  std::optional<double> find(double seconds, double tolerance_s);

  // Writes the found frame as 3 x height x width RGB. Throws UsageError when the frame is of another size.
  void convert(std::span<uint8_t> out, int64_t height, int64_t width);

 private:
  void open_container();
  void check_complete() const;
  void open_decoder();
  bool can_continue(int64_t target, int64_t slack) const;
  void seek(int64_t target);
  bool seek_to_sync_before(int64_t dts);
  bool read_packet();
  void send(const AVPacket* packet);
  [[noreturn]] void refuse_damage(int code) const;
  bool advance();
  int64_t slack_ticks(double tolerance_s) const;
  double to_seconds(int64_t ticks) const;
  void choose_nearest(double seconds);

  std::filesystem::path file_;
  AtomicVideoCounters& counters_;
  ffmpeg::FormatContext format_;
  ffmpeg::CodecContext decoder_;
  AVStream* stream_ = nullptr;  // of format_
  ffmpeg::Packet packet_;
  ffmpeg::Frame incoming_, current_, previous_;  // the newest frame and the one before it, in presentation order
  RgbConverter converter_;

  bool positioned_ = false;   // packets have been read since the last seek
  bool pending_ = false;      // packet_ is read but not yet sent
  bool input_ended_ = false;  // the decoder has been told that no more packets come
  bool has_current_ = false, has_previous_ = false;
  bool use_previous_ = false;  // the found frame is previous_
  int64_t start_dts_ = 0;      // of the sync sample that decoding began with
  int64_t last_dts_ = 0;       // of the last packet read
};

}  // namespace lerobot::dataset
