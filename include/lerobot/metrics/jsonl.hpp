// Metrics as JSON lines, one object a log step, floats in full precision.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "lerobot/core/file_system.hpp"
#include "lerobot/core/json.hpp"

namespace lerobot::metrics {

// Appends to `path`; the file and its folder are made by the first write. Throws RunError naming the file; the next
// record then begins on a line of its own.
class JsonlWriter {
 public:
  JsonlWriter(FileSystem& files, std::filesystem::path path);
  void write(const Json& record);

 private:
  FileSystem& files_;
  std::filesystem::path path_;
  std::unique_ptr<WritableFile> file_;
  bool may_end_in_a_part_ = false;  // of a record whose write failed
};

// A resumed run goes on in the file of the run before it, which may have come further than its last checkpoint: removes
// the records with a "step" above `step`, and a last line that was cut off. Replaces the file in one piece. Nothing
// happens when there is no file.
void drop_records_after(FileSystem& files, const std::filesystem::path& path, int64_t step);

}  // namespace lerobot::metrics
