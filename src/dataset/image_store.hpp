// The encoded images of a dataset's Parquet columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "frame_data.hpp"

namespace lerobot::dataset {

// Keeps the images of recently used row groups in memory, `cache_bytes` in all; the least recently used row group goes
// first. One row group may be larger than that: it is then kept alone. Thread-safe: two callers that want the same
// absent row group read it once, and others do not wait for them.
class ImageStore {
 public:
  ImageStore(std::vector<std::filesystem::path> files, std::vector<FrameLocation> locations, size_t cache_bytes);
  ~ImageStore();

  // The image file of `column` in dataset row `row`. An image that is stored as a path alone is read from there (a
  // relative path is taken from the current directory, as LeRobot takes it). Throws RunError naming the Parquet file.
  std::vector<std::byte> read(const std::string& column, int64_t row);
  // "data/chunk-000/file-000.parquet, row group 2, row 17", for messages.
  std::string describe(int64_t row) const;

  int64_t row_groups_read() const;

 private:
  struct RowGroup;
  struct Entry;
  using Key = std::tuple<std::string, int32_t, int32_t>;  // column, file, row group

  std::shared_ptr<const RowGroup> row_group(const Key& key);
  RowGroup load(const Key& key) const;
  void make_room();

  const std::vector<std::filesystem::path> files_;
  const std::vector<FrameLocation> locations_;
  const size_t cache_bytes_;

  mutable std::mutex mutex_;  // guards what follows
  std::map<Key, std::shared_ptr<Entry>> entries_;
  std::list<Key> recency_;  // most recent first; only entries that are loaded
  size_t bytes_ = 0;
  int64_t row_groups_read_ = 0;
};

}  // namespace lerobot::dataset
