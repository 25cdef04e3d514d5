#include "lerobot/dataset/dataset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "frame_data.hpp"
#include "image_store.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/dataset/image_decoder.hpp"
#include "lerobot/dataset/image_transforms.hpp"
#include "lerobot/dataset/video_decoder.hpp"

namespace lerobot::dataset {
namespace {

// The rows that a feature of a batch shows.
struct Window {
  std::vector<int64_t> shape;    // {B} or {B, T}
  std::vector<int64_t> rows;     // B or B * T, clamped to their episodes
  std::vector<char> is_outside;  // B * T; empty without deltas
};

std::vector<EpisodeRows> lay_out(const Metadata& metadata, std::vector<int64_t> episodes) {
  if (episodes.empty()) throw UsageError(fmt::format("No episode of {} is chosen", metadata.root.string()));
  std::sort(episodes.begin(), episodes.end());
  std::vector<EpisodeRows> rows;
  int64_t first_row = 0;
  for (int64_t episode : episodes) {
    const int64_t length = metadata.episodes.at(episode).length;
    rows.push_back({episode, first_row, length});
    first_row += length;
  }
  return rows;
}

// Once for each mp4 of the chosen episodes: it is there and may be read. What is in it is found out when it is decoded.
void check_videos(const Metadata& metadata, const std::vector<EpisodeRows>& episodes, const FeatureSpec& camera) {
  std::set<std::pair<int64_t, int64_t>> checked;
  for (const EpisodeRows& rows : episodes) {
    const VideoSegment& segment = metadata.episodes[rows.episode_index].videos.at(camera.name);
    if (!checked.emplace(segment.chunk_index, segment.file_index).second) continue;
    const auto file = metadata.video_file(metadata.episodes[rows.episode_index], camera.name);
    if (!std::filesystem::exists(file))
      throw UsageError(
          fmt::format("{}: the video of camera `{}`, episode {}, is missing. Download the dataset again, or "
                      "leave the episode out with --dataset.episodes",
                      file.string(), camera.name, rows.episode_index));
    if (!std::ifstream(file, std::ios::binary))
      throw UsageError(
          fmt::format("{}: the video of camera `{}` cannot be opened; LeRobot writes merged videos for their "
                      "owner alone. Give it to this user: chmod a+r '{}'",
                      file.string(), camera.name, file.string()));
  }
}

}  // namespace

class LeRobotDataset::Impl {
 public:
  Impl(std::shared_ptr<const Metadata> metadata_in, DatasetOptions options_in)
      : metadata(std::move(metadata_in)),
        options(std::move(options_in)),
        episodes(lay_out(*metadata, options.episodes)),
        features(features_to_load(metadata->info, options.features ? &*options.features : nullptr)) {
    for (const FeatureSpec* feature : features) check_camera(*feature);
    frames = load_frame_data(*metadata, episodes, features);
    check_tasks();
    if (frames.locations.empty()) return;
    if (frames.image_bytes > static_cast<int64_t>(options.image_cache_bytes))
      log::warning(
          fmt::format("{}: the images take {} MiB, of which {} MiB are kept in memory; the rest is read again and "
                      "again. Videos (dtype video) read faster",
                      metadata->root.string(), frames.image_bytes >> 20, options.image_cache_bytes >> 20));
    images =
        std::make_unique<ImageStore>(std::move(frames.files), std::move(frames.locations), options.image_cache_bytes);
  }

  int64_t num_frames() const { return episodes.back().first_row + episodes.back().length; }

  Batch get(std::span<const int64_t> rows, int64_t epoch) const {
    Batch batch;
    for (const FeatureSpec* feature : features) {
      const std::vector<int64_t>* deltas = options.delta_indices.find(feature->name);
      const Window window =
          deltas ? window_of(rows, *deltas) : Window{{std::ssize(rows)}, {rows.begin(), rows.end()}, {}};
      batch.tensors[feature->name] = feature->is_video()   ? read_video(*feature, window)
                                     : feature->is_image() ? read_images(*feature, window)
                                                           : gather(feature->name, window);
      if (options.image_transforms && feature->is_camera() && !feature->is_depth)
        transform(batch.tensors[feature->name], *feature, rows, epoch);
      if (deltas) {
        torch::Tensor pad = allocate(window.shape, torch::kBool);
        std::transform(window.is_outside.begin(), window.is_outside.end(), pad.data_ptr<bool>(),
                       [](char outside) { return outside != 0; });
        batch.tensors[feature->name + "_is_pad"] = pad;
      }
    }
    const auto* task_index = frames.columns.at("task_index").data_ptr<int64_t>();
    for (int64_t row : rows) batch.task.push_back(metadata->tasks.at(task_index[row]));
    return batch;
  }

  std::shared_ptr<const Metadata> metadata;
  DatasetOptions options;
  std::vector<EpisodeRows> episodes;
  std::vector<const FeatureSpec*> features;
  FrameData frames;
  std::unique_ptr<ImageStore> images;  // null without image features
  mutable VideoFrames videos;

 private:
  void check_camera(const FeatureSpec& feature) const {
    if (!feature.is_camera()) return;
    feature.camera_shape();
    if (feature.is_video() && feature.is_depth)
      throw UsageError(
          fmt::format("`{}` is a depth video, which is not supported; depth images (dtype image) are. Leave "
                      "it out of --policy.input_features",
                      feature.name));
    if (feature.is_depth && !feature.depth_unit)
      log::warning(
          fmt::format("Depth camera `{}` has no depth_unit in meta/info.json: its values and statistics are taken "
                      "as they are",
                      feature.name));
    if (options.image_transforms && !feature.is_depth)
      options.image_transforms->check_camera(feature.name, feature.camera_shape()[0]);
    if (feature.is_video()) check_videos(*metadata, episodes, feature);
  }

  void check_tasks() const {
    const auto* task_index = frames.columns.at("task_index").data_ptr<int64_t>();
    for (int64_t row = 0; row < num_frames(); ++row) {
      if (!metadata->tasks.count(task_index[row]))
        throw UsageError(
            fmt::format("{}: frame {} of the dataset has task_index {}, which is not in meta/tasks.parquet",
                        metadata->root.string(), row, task_index[row]));
    }
  }

  const EpisodeRows& episode_of(int64_t row) const {
    TORCH_CHECK(row >= 0 && row < num_frames(), "row ", row, " of a dataset of ", num_frames());
    const auto after = std::upper_bound(episodes.begin(), episodes.end(), row,
                                        [](int64_t value, const EpisodeRows& rows) { return value < rows.first_row; });
    return *std::prev(after);
  }

  Window window_of(std::span<const int64_t> rows, const std::vector<int64_t>& deltas) const {
    Window window{{std::ssize(rows), std::ssize(deltas)}, {}, {}};
    window.rows.reserve(rows.size() * deltas.size());
    window.is_outside.reserve(rows.size() * deltas.size());
    for (int64_t row : rows) {
      const EpisodeRows& episode = episode_of(row);
      const int64_t last = episode.first_row + episode.length - 1;
      for (int64_t delta : deltas) {
        const int64_t clamped = std::clamp(row + delta, episode.first_row, last);
        window.rows.push_back(clamped);
        window.is_outside.push_back(clamped != row + delta);
      }
    }
    return window;
  }

  torch::Tensor allocate(std::vector<int64_t> shape, torch::ScalarType dtype) const {
    return torch::empty(shape, torch::TensorOptions(dtype).pinned_memory(options.pin_memory));
  }

  torch::Tensor gather(const std::string& name, const Window& window) const {
    const torch::Tensor& column = frames.columns.at(name);
    std::vector<int64_t> shape = window.shape;
    shape.insert(shape.end(), column.sizes().begin() + 1, column.sizes().end());
    torch::Tensor batch = allocate(shape, column.scalar_type());
    const size_t row_bytes = column.nbytes() / num_frames();
    const auto* from = static_cast<const std::byte*>(column.data_ptr());
    auto* to = static_cast<std::byte*>(batch.data_ptr());
    for (int64_t row : window.rows) {
      std::memcpy(to, from + row * row_bytes, row_bytes);
      to += row_bytes;
    }
    return batch;
  }

  torch::Tensor read_images(const FeatureSpec& camera, const Window& window) const {
    const std::vector<int64_t> image_shape = camera.camera_shape();
    std::vector<int64_t> shape = window.shape;
    shape.insert(shape.end(), image_shape.begin(), image_shape.end());
    torch::Tensor batch = allocate(shape, torch::kFloat32);
    const int64_t size = image_shape[0] * image_shape[1] * image_shape[2];
    auto* to = batch.data_ptr<float>();
    for (size_t i = 0; i < window.rows.size(); ++i, to += size) {
      const bool is_repeated = i > 0 && window.rows[i] == window.rows[i - 1];
      if (is_repeated) {
        std::memcpy(to, to - size, size * sizeof(float));
      } else {
        read_image(camera, image_shape, window.rows[i], {to, static_cast<size_t>(size)});
      }
    }
    return batch;
  }

  void read_image(const FeatureSpec& camera, const std::vector<int64_t>& shape, int64_t row,
                  std::span<float> out) const {
    const auto where = [&] { return fmt::format("{}: image of `{}`", images->describe(row), camera.name); };
    const std::vector<std::byte> file = images->read(camera.name, row);
    torch::Tensor image;
    try {
      image = decode_image(file);
    } catch (const Error& error) {
      throw RunError(fmt::format("{}: {}", where(), error.what()));
    }
    if (image.sizes() != torch::IntArrayRef(shape))
      throw RunError(fmt::format("{} is {} (channels, height, width), meta/info.json says {}", where(),
                                 fmt::join(image.sizes(), "x"), fmt::join(shape, "x")));
    const double scale = camera.depth_scale(metadata->depth_output_unit);
    std::transform(image.data_ptr<float>(), image.data_ptr<float>() + image.numel(), out.begin(),
                   [scale](float value) { return static_cast<float>(value * scale); });
  }

  torch::Tensor read_video(const FeatureSpec& camera, const Window& window) const {
    const std::vector<int64_t> frame_shape = camera.camera_shape();
    std::vector<int64_t> shape = window.shape;
    shape.insert(shape.end(), frame_shape.begin(), frame_shape.end());
    torch::Tensor batch = allocate(shape, torch::kUInt8);
    const auto frame_bytes = static_cast<size_t>(frame_shape[0] * frame_shape[1] * frame_shape[2]);
    const auto samples = static_cast<size_t>(window.shape[0]);
    const size_t frames_each = window.rows.size() / samples;
    const std::span<uint8_t> out(batch.data_ptr<uint8_t>(), window.rows.size() * frame_bytes);
    const auto* timestamp = frames.columns.at("timestamp").data_ptr<float>();
    std::vector<double> seconds(frames_each);
    for (size_t sample = 0; sample < samples; ++sample) {
      const int64_t* rows = window.rows.data() + sample * frames_each;
      const Episode& episode = metadata->episodes[episode_of(rows[0]).episode_index];
      const double from = episode.videos.at(camera.name).from_timestamp;
      for (size_t i = 0; i < frames_each; ++i) seconds[i] = from + static_cast<double>(timestamp[rows[i]]);
      videos.read(metadata->video_file(episode, camera.name), seconds, options.tolerance_s,
                  out.subspan(sample * frames_each * frame_bytes, frames_each * frame_bytes), frame_shape[1],
                  frame_shape[2]);
    }
    return batch;
  }

  // In place; `batch` is [B, C, H, W] or [B, T, C, H, W], a camera's frames of `rows`.
  void transform(const torch::Tensor& batch, const FeatureSpec& camera, std::span<const int64_t> rows,
                 int64_t epoch) const {
    const std::vector<int64_t> frame = camera.camera_shape();
    const FramesShape shape{batch.dim() == 5 ? batch.size(1) : 1, frame[0], frame[1], frame[2]};
    const auto each = static_cast<size_t>(shape.frames * frame[0] * frame[1] * frame[2]);
    const auto sample_of = [each](auto* pixels, size_t sample) { return std::span(pixels + sample * each, each); };
    for (size_t sample = 0; sample < rows.size(); ++sample) {
      const DrawKey key{epoch, rows[sample], camera.name};
      if (camera.is_video()) {
        options.image_transforms->apply(sample_of(batch.data_ptr<uint8_t>(), sample), shape, key);
      } else {
        options.image_transforms->apply(sample_of(batch.data_ptr<float>(), sample), shape, key);
      }
    }
  }
};

LeRobotDataset::LeRobotDataset(std::shared_ptr<const Metadata> metadata, DatasetOptions options)
    : impl_(std::make_unique<Impl>(std::move(metadata), std::move(options))) {}
LeRobotDataset::~LeRobotDataset() = default;
LeRobotDataset::LeRobotDataset(LeRobotDataset&&) noexcept = default;

const Metadata& LeRobotDataset::metadata() const {
  return *impl_->metadata;
}
int64_t LeRobotDataset::num_frames() const {
  return impl_->num_frames();
}
const std::vector<EpisodeRows>& LeRobotDataset::episodes() const {
  return impl_->episodes;
}
const DatasetOptions& LeRobotDataset::options() const {
  return impl_->options;
}
Batch LeRobotDataset::get(std::span<const int64_t> rows, int64_t epoch) const {
  return impl_->get(rows, epoch);
}

std::span<const int64_t> LeRobotDataset::task_indices() const {
  return {impl_->frames.columns.at("task_index").data_ptr<int64_t>(), static_cast<size_t>(num_frames())};
}

size_t LeRobotDataset::column_bytes() const {
  size_t bytes = 0;
  for (const auto& [name, column] : impl_->frames.columns) bytes += column.nbytes();
  return bytes;
}

}  // namespace lerobot::dataset
