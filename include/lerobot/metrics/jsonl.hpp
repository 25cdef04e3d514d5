// Metrics as JSON lines, one object a log step, floats in full precision.
#pragma once

#include <filesystem>
#include <memory>

#include "lerobot/core/file_system.hpp"
#include "lerobot/core/json.hpp"

namespace lerobot::metrics {

// Appends to `path`; the file and its folder are made by the first write. Throws RunError naming the file.
class JsonlWriter {
 public:
  JsonlWriter(FileSystem& files, std::filesystem::path path);
  void write(const Json& record);

 private:
  FileSystem& files_;
  std::filesystem::path path_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace lerobot::metrics
