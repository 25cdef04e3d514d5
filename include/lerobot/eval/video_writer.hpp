// An H.264 video in an mp4 file, encoded while its frames come in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/core/file_system.hpp"
#include "lerobot/env/observation.hpp"

namespace lerobot::eval {

struct VideoWriterOptions {
  double fps = 0.0;  // frames a second; above 0
  // FFmpeg's names; the first that this FFmpeg has and that opens is taken, with a warning when it is not the first.
  // libx264 runs with its default quality, as in LeRobot (crf 23), and the preset veryfast.
  std::vector<std::string> encoders = {"libx264", "libopenh264", "h264_videotoolbox", "mpeg4"};
  size_t max_waiting_frames = 16;                      // then add() waits
  std::function<void(std::string_view message)> warn;  // empty: log::warning; called from any thread
};

// Encodes on a thread of its own (of one core), 4:2:0, without colour tags. Frames of an odd width or height lose their
// last column or row, with a warning.
//
// The finished file appears under its name in one step, synced: a crash leaves no broken video behind. An mp4's index
// is written last and its place at the head of the file filled in afterwards, which a file that can only be appended to
// does not allow, and a fragmented mp4, which would, is one that many players cannot seek in. So the compressed video
// is kept in memory until it is whole: about 1 MB for a minute of PushT.
//
// add(), end() and wait() from one thread.
class VideoWriter {
 public:
  // Makes the folder of `path` when the first frame is encoded; replaces a file of that name.
  VideoWriter(FileSystem& files, std::filesystem::path path, VideoWriterOptions options);
  ~VideoWriter();  // a video that was not ended is given up: nothing is left of it
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  // The next frame; all have the size of the first. After a failure frames are dropped: wait() tells.
  void add(env::Image frame);
  void end();  // no frame will follow; does not wait

  bool is_finished() const;  // end() was called and the thread is through, with or without success

  // Waits for the file after end(). Throws RunError naming it when there is none: no frame was added, no encoder works,
  // a frame has another size, the disk refused.
  void wait();

  const std::filesystem::path& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lerobot::eval
