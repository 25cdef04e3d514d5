#include "lerobot/metrics/jsonl.hpp"

#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "lerobot/core/error.hpp"

namespace lerobot::metrics {
namespace {

// The step of a record; nothing when the line is none.
std::optional<int64_t> step_of(const std::string& line) {
  try {
    const Json record = parse_json(line, "metrics.jsonl");
    if (record.is_object() && record.contains("step") && record["step"].is_number_integer()) {
      return record["step"].get<int64_t>();
    }
  } catch (const Error&) {
    // somebody else's line, or one that was cut off
  }
  return std::nullopt;
}

}  // namespace

JsonlWriter::JsonlWriter(FileSystem& files, std::filesystem::path path) : files_(files), path_(std::move(path)) {}

void JsonlWriter::write(const Json& record) {
  if (!file_) {
    files_.create_directories(path_.parent_path());
    file_ = files_.append_to(path_);
  }
  const std::string line = to_python_json(record, {.indent = -1}) + '\n';
  const bool follows_a_part = std::exchange(may_end_in_a_part_, true);
  try {
    file_->append(follows_a_part ? '\n' + line : line);
  } catch (const FileSystemError&) {
    file_.reset();  // a handle may be dead for good (a network mount that came back): the next record opens the file
                    // anew
    throw;
  }
  may_end_in_a_part_ = false;
}

void drop_records_after(FileSystem& files, const std::filesystem::path& path, int64_t step) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return;
  std::string kept;
  bool is_changed = false;
  for (std::string line; std::getline(file, line);) {
    const std::optional<int64_t> record = step_of(line);
    const bool is_cut_off = file.eof();  // no newline at its end
    if ((record && *record > step) || is_cut_off) {
      is_changed = true;
    } else {
      kept += line + '\n';
    }
  }
  if (!is_changed) return;
  const std::filesystem::path replacement = path.string() + ".tmp";
  files.write_file(replacement, kept);
  files.rename(replacement, path);
  files.sync_directory(path.parent_path());
}

}  // namespace lerobot::metrics
