#include "lerobot/metrics/jsonl.hpp"

namespace lerobot::metrics {

JsonlWriter::JsonlWriter(FileSystem& files, std::filesystem::path path) : files_(files), path_(std::move(path)) {}

void JsonlWriter::write(const Json& record) {
  if (!file_) {
    files_.create_directories(path_.parent_path());
    file_ = files_.append_to(path_);
  }
  file_->append(to_python_json(record, {.indent = -1}) + '\n');
}

}  // namespace lerobot::metrics
