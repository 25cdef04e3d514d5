#include "lerobot/eval/video_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"
#include "mp4_encoder.hpp"

namespace lerobot::eval {

struct VideoWriter::State {
  State(FileSystem& file_system, std::filesystem::path video_path, VideoWriterOptions video_options)
      : files(file_system), path(std::move(video_path)), options(std::move(video_options)) {}

  FileSystem& files;
  const std::filesystem::path path;
  const VideoWriterOptions options;

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<env::Image> waiting;
  bool is_ended = false;  // no frame will follow
  bool is_given_up = false;
  bool is_through = false;  // the thread is
  std::exception_ptr failure;
  std::thread thread;

  void run();
  void write();
  std::optional<env::Image> next_frame();
  std::vector<std::byte> encode();
  void publish(std::span<const std::byte> video);
  void drop_partial(const std::filesystem::path& partial) noexcept;
};

// The frame to encode; nothing when none follows.
std::optional<env::Image> VideoWriter::State::next_frame() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return !waiting.empty() || is_ended || is_given_up; });
  if (waiting.empty() || is_given_up) return std::nullopt;
  env::Image frame = std::move(waiting.front());
  waiting.pop_front();
  changed.notify_all();
  return frame;
}

std::vector<std::byte> VideoWriter::State::encode() {
  std::optional<Mp4Encoder> encoder;
  while (const std::optional<env::Image> frame = next_frame()) {
    if (!encoder) encoder.emplace(frame->width, frame->height, options.fps, options.encoders, options.warn);
    encoder->add(*frame);
  }
  if (!encoder) return {};
  return encoder->finish();
}

// The whole file under its name, or none.
void VideoWriter::State::publish(std::span<const std::byte> video) {
  const std::filesystem::path folder = path.parent_path();
  const std::filesystem::path partial = folder / fmt::format(".{}.partial", path.filename().string());
  if (!folder.empty()) files.create_directories(folder);
  try {
    const auto file = files.create(partial);
    file->append(video);
    file->sync();
    file->close();
    files.rename(partial, path);
    files.sync_directory(folder.empty() ? "." : folder);
  } catch (const Error&) {
    drop_partial(partial);
    throw;
  }
}

void VideoWriter::State::drop_partial(const std::filesystem::path& partial) noexcept {
  try {
    files.remove_all(partial);
  } catch (const std::exception&) {
    // the first failure is the one to tell of
  }
}

void VideoWriter::State::write() {
  const std::vector<std::byte> video = encode();
  {
    const std::lock_guard lock(mutex);
    if (is_given_up) return;
  }
  if (video.empty()) throw RunError("no frame was given");
  publish(video);
}

void VideoWriter::State::run() {
  std::exception_ptr caught;
  try {
    write();
  } catch (const std::exception& error) {
    caught = std::make_exception_ptr(RunError(fmt::format("video {}: {}", path.string(), error.what())));
  } catch (...) {
    caught = std::current_exception();
  }
  const std::lock_guard lock(mutex);
  failure = caught;
  is_through = true;
  waiting.clear();
  changed.notify_all();
}

VideoWriter::VideoWriter(FileSystem& files, std::filesystem::path path, VideoWriterOptions options) {
  if (!options.warn) options.warn = [](std::string_view message) { log::warning(message); };
  state_ = std::make_unique<State>(files, std::move(path), std::move(options));
  const signals::BlockedInNewThreads blocked;
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

VideoWriter::~VideoWriter() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_given_up = !state_->is_ended;
    state_->changed.notify_all();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

void VideoWriter::add(env::Image frame) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] {
    return state_->is_through || state_->waiting.size() < std::max<size_t>(1, state_->options.max_waiting_frames);
  });
  if (state_->is_through) return;
  state_->waiting.push_back(std::move(frame));
  state_->changed.notify_all();
}

void VideoWriter::end() {
  const std::lock_guard lock(state_->mutex);
  state_->is_ended = true;
  state_->changed.notify_all();
}

bool VideoWriter::is_finished() const {
  const std::lock_guard lock(state_->mutex);
  return state_->is_ended && state_->is_through;
}

void VideoWriter::wait() {
  end();
  if (state_->thread.joinable()) state_->thread.join();
  if (state_->failure) std::rethrow_exception(state_->failure);
}

const std::filesystem::path& VideoWriter::path() const {
  return state_->path;
}

}  // namespace lerobot::eval
