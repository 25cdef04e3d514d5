#include "episode_videos.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"

namespace lerobot::eval {

std::function<void(std::string_view)> warn_once() {
  struct Said {
    std::mutex mutex;
    std::set<std::string, std::less<>> messages;
  };
  return [said = std::make_shared<Said>()](std::string_view message) {
    const std::lock_guard lock(said->mutex);
    if (said->messages.emplace(message).second) log::warning(message);
  };
}

EpisodeVideos::EpisodeVideos(FileSystem& files, std::filesystem::path folder, double fps, int64_t max_videos)
    : files_(files), folder_(std::move(folder)), max_videos_(max_videos) {
  options_.fps = fps;
  options_.warn = warn_once();
}

void EpisodeVideos::begin_rollout(int64_t episodes) {
  first_ = videos_.size();
  const int64_t count = std::min(episodes, max_videos_ - static_cast<int64_t>(first_));
  for (int64_t i = 0; i < count; ++i) {
    const std::filesystem::path path = folder_ / fmt::format("eval_episode_{}.mp4", videos_.size());
    videos_.push_back({path, std::make_unique<VideoWriter>(files_, path, options_)});
  }
}

void EpisodeVideos::capture(env::VectorEnv& environments, const std::vector<bool>& ended) {
  int64_t rendered = 0;  // environments up to the last one still filmed
  for (size_t i = first_; i < videos_.size(); ++i) {
    if (ended[i - first_]) {
      if (videos_[i].writer) videos_[i].writer->end();
    } else {
      rendered = static_cast<int64_t>(i - first_) + 1;
    }
  }
  if (rendered == 0) return;
  std::vector<env::Image> frames;
  try {
    frames = environments.render(rendered);
  } catch (
      const RunError& error) {  // no pictures, but still results; a dead environment tells of itself at its next step
    log::error(fmt::format("There will be no videos of these episodes and the next: {}", error.what()));
    videos_.resize(first_);
    max_videos_ = static_cast<int64_t>(first_);
    return;
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!ended[i]) videos_[first_ + i].writer->add(std::move(frames[i]));
  }
}

void EpisodeVideos::collect(Video& video) {
  try {
    video.writer->wait();
    video.is_written = true;
  } catch (const Error& error) {
    log::error(error.what());
  }
  video.writer.reset();
}

std::vector<std::string> EpisodeVideos::finished_paths() {
  std::vector<std::string> paths;
  for (Video& video : videos_) {
    if (video.writer && video.writer->is_finished()) collect(video);
    if (video.is_written) paths.push_back(video.path.string());
  }
  return paths;
}

std::vector<std::string> EpisodeVideos::wait_for_all() {
  for (Video& video : videos_) {
    if (video.writer) collect(video);
  }
  return finished_paths();
}

}  // namespace lerobot::eval
