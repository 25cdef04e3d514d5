#include "image_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "lerobot/core/error.hpp"
#include "parquet_file.hpp"

namespace lerobot::dataset {

// The images of one row group, end to end.
struct ImageStore::RowGroup {
  std::vector<std::byte> bytes;
  std::vector<size_t> ends;        // of each row's image in `bytes`
  std::vector<std::string> paths;  // of the rows without bytes; empty when all have them
};

struct ImageStore::Entry {
  std::mutex loading;                         // held while row_group is read
  std::shared_ptr<const RowGroup> row_group;  // null: not read yet, or reading failed
  std::list<Key>::iterator recency;
  bool is_counted = false;  // in bytes_ and recency_
};

ImageStore::ImageStore(std::vector<std::filesystem::path> files, std::vector<FrameLocation> locations,
                       size_t cache_bytes)
    : files_(std::move(files)), locations_(std::move(locations)), cache_bytes_(cache_bytes) {}
ImageStore::~ImageStore() = default;

std::vector<std::byte> ImageStore::read(const std::string& column, int64_t row) {
  const FrameLocation& at = locations_.at(row);
  const auto group = row_group({column, at.file, at.row_group});
  const size_t begin = at.row == 0 ? 0 : group->ends.at(at.row - 1);
  const size_t end = group->ends.at(at.row);
  if (begin != end) return {group->bytes.begin() + begin, group->bytes.begin() + end};

  const std::string path = group->paths.empty() ? "" : group->paths.at(at.row);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (path.empty() || !file)
    throw RunError(
        fmt::format("{}: `{}` holds {}", describe(row), column,
                    path.empty() ? "no image" : fmt::format("only the path {}, which cannot be read", path)));
  std::vector<std::byte> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw RunError(fmt::format("{}: {} cannot be read", describe(row), path));
  return bytes;
}

std::string ImageStore::describe(int64_t row) const {
  const FrameLocation& at = locations_.at(row);
  return fmt::format("{}, row group {}, row {}", files_.at(at.file).string(), at.row_group, at.row);
}

int64_t ImageStore::row_groups_read() const {
  const std::lock_guard lock(mutex_);
  return row_groups_read_;
}

std::shared_ptr<const ImageStore::RowGroup> ImageStore::row_group(const Key& key) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = entries_[key];
    if (!slot) slot = std::make_shared<Entry>();
    entry = slot;
    if (entry->is_counted) {
      recency_.splice(recency_.begin(), recency_, entry->recency);
      return entry->row_group;
    }
  }
  // Several callers may come here for one entry; one of them loads. After an exception the next one tries again.
  std::shared_ptr<const RowGroup> loaded;
  {
    const std::lock_guard lock(entry->loading);
    if (!entry->row_group) entry->row_group = std::make_shared<const RowGroup>(load(key));
    loaded = entry->row_group;
  }
  const std::lock_guard lock(mutex_);
  const auto present = entries_.find(key);
  if (!entry->is_counted && present != entries_.end() && present->second == entry) {
    recency_.push_front(key);
    entry->recency = recency_.begin();
    entry->is_counted = true;
    bytes_ += loaded->bytes.size();
    ++row_groups_read_;
    make_room();
  }
  return loaded;
}

void ImageStore::make_room() {
  while (bytes_ > cache_bytes_ && recency_.size() > 1) {
    const auto oldest = entries_.find(recency_.back());
    bytes_ -= oldest->second->row_group->bytes.size();
    entries_.erase(oldest);
    recency_.pop_back();
  }
}

ImageStore::RowGroup ImageStore::load(const Key& key) const {
  const auto& [column, file_index, group] = key;
  try {
    const ParquetFile file(files_.at(file_index));
    RowGroup images;
    // What the file says, but no more than there is: images hardly compress.
    const auto promised = static_cast<uintmax_t>(file.uncompressed_bytes(column, "bytes", group));
    images.bytes.reserve(std::min(promised, std::filesystem::file_size(file.path())));
    bool all_have_bytes = true;
    file.read_bytes(column, "bytes", group, [&](std::optional<std::span<const std::byte>> bytes) {
      if (bytes) images.bytes.insert(images.bytes.end(), bytes->begin(), bytes->end());
      all_have_bytes = all_have_bytes && bytes && !bytes->empty();
      images.ends.push_back(images.bytes.size());
    });
    if (!all_have_bytes) {
      file.read_bytes(column, "path", group, [&](std::optional<std::span<const std::byte>> text) {
        images.paths.emplace_back(text ? std::string(reinterpret_cast<const char*>(text->data()), text->size()) : "");
      });
    }
    return images;
  } catch (const UsageError& error) {
    throw RunError(error.what());  // the file was good when the dataset was opened
  }
}

}  // namespace lerobot::dataset
