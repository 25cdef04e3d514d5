// The videos of one task's first episodes, filmed while the rollouts go on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/core/file_system.hpp"
#include "lerobot/env/vector_env.hpp"
#include "lerobot/eval/video_writer.hpp"

namespace lerobot::eval {

// Warns of each thing once, from any thread.
std::function<void(std::string_view)> warn_once();

// Video i is the i-th episode's: <folder>/eval_episode_<i>.mp4. It holds the frame after the reset, one after each
// step, and stops before the step that ends the episode, as LeRobot's do: what is left to see then belongs to the next
// one.
class EpisodeVideos {
 public:
  EpisodeVideos(FileSystem& files, std::filesystem::path folder, double fps, int64_t max_videos);

  // The first `episodes` environments begin an episode each; those that there is a video left for are filmed.
  void begin_rollout(int64_t episodes);
  // After the reset and after each step.
  void capture(env::VectorEnv& environments, const std::vector<bool>& ended);

  // Files that are there, in the order of the episodes. A video that could not be written is told as an error on the
  // log, once, and left out.
  std::vector<std::string> finished_paths();
  std::vector<std::string> wait_for_all();  // of the rollouts so far, which are over

 private:
  struct Video {
    std::filesystem::path path;
    std::unique_ptr<VideoWriter> writer;  // null: done with
    bool is_written = false;
  };

  void collect(Video& video);

  FileSystem& files_;
  std::filesystem::path folder_;
  VideoWriterOptions options_;
  int64_t max_videos_;
  std::vector<Video> videos_;
  size_t first_ = 0;  // videos_ from here on are of the rollout under way: environment 0, 1, ...
};

}  // namespace lerobot::eval
