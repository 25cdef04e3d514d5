// A LeRobotDataset v3.0, opened for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lerobot/dataset/batch.hpp"
#include "lerobot/dataset/delta_timestamps.hpp"
#include "lerobot/dataset/metadata.hpp"

namespace lerobot::dataset {

class ImageTransforms;

struct DatasetOptions {
  std::vector<int64_t> episodes;  // from choose_episodes() or split_episodes(); their order does not matter
  DeltaIndices delta_indices;
  // Features to load besides the standard columns (timestamp, frame_index, episode_index, index, task_index); nullopt:
  // all. Strings and language are never loaded.
  std::optional<std::vector<std::string>> features;
  double tolerance_s = 1e-4;                     // between a frame's timestamp and the video's
  size_t image_cache_bytes = size_t{512} << 20;  // of encoded images kept in memory
  bool pin_memory = false;                       // batches in page-locked memory (needs an accelerator)
  // What is done to the frames of all cameras but the depth ones (image_transforms.hpp); null: nothing.
  std::shared_ptr<const ImageTransforms> image_transforms;
};

// The rows of one episode in an opened dataset.
struct EpisodeRows {
  int64_t episode_index = 0;
  int64_t first_row = 0;
  int64_t length = 0;
};

// Numeric columns are held in memory, one contiguous tensor a feature (float16/32/64 -> float32, integers -> int64,
// bool); images stay encoded, in a bounded cache; video frames are decoded on demand. A row is a frame of the chosen
// episodes, in ascending episode order: with all episodes chosen, row == `index`. Thread-safe once constructed. get()
// starts no thread and calls no parallel kernel, so that many loader threads can.
class LeRobotDataset {
 public:
  // Reads data/*/*.parquet and checks it: the columns are those of info.json, of their shape, without nulls; the chosen
  // episodes are complete and every `index` is where the episode table says; their mp4 files are there and can be
  // opened. Throws UsageError naming the file and the column, or a camera that the image transforms are not for.
  LeRobotDataset(std::shared_ptr<const Metadata> metadata, DatasetOptions options);
  ~LeRobotDataset();
  LeRobotDataset(LeRobotDataset&&) noexcept;

  const Metadata& metadata() const;
  int64_t num_frames() const;
  const std::vector<EpisodeRows>& episodes() const;
  const DatasetOptions& options() const;

  // The batch of these rows (batch.hpp says what it holds). A feature with deltas has the time axis T even when T is 1;
  // frames beyond the episode are copies of its first or last frame, marked in <key>_is_pad. `epoch` counts only for
  // the image transforms: each epoch draws them anew.
  // Throws RunError naming file and frame when an image or video frame cannot be decoded or has another size.
  Batch get(std::span<const int64_t> rows, int64_t epoch = 0) const;

  // The task of every row.
  std::span<const int64_t> task_indices() const;

  // Bytes of the columns held in memory.
  size_t column_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lerobot::dataset
