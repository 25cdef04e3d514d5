#include "lerobot/train/output_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "lerobot/core/error.hpp"

namespace lerobot::train {

namespace fs = std::filesystem;

void require_writable(const fs::path& output_dir) {
  std::error_code ignored;
  fs::path present = output_dir;  // or the nearest folder above it
  while (!present.empty() && !fs::exists(present, ignored)) present = present.parent_path();
  if (present.empty()) present = ".";
  std::string reason;
  if (!fs::is_directory(present, ignored)) {
    reason = "is not a folder";
  } else if (::access(present.c_str(), W_OK | X_OK) != 0) {
    reason = fmt::format("cannot be written to ({})", std::generic_category().message(errno));
  }
  if (reason.empty()) return;
  throw UsageError(
      fmt::format("--output_dir: checkpoints cannot go to '{}': {} {}. Choose another folder, or save nothing with "
                  "--save_checkpoint=false",
                  output_dir.string(), present.string(), reason));
}

OutputDirectory::OutputDirectory(FileSystem& files, fs::path path) : files_(files), path_(std::move(path)) {
  std::error_code ignored;
  if (fs::is_directory(path_, ignored)) lock();
}

OutputDirectory::~OutputDirectory() {
  std::error_code error;
  if (!is_made_here_ || !fs::is_empty(path_, error) || error) return;
  try {
    files_.remove_all(path_);
  } catch (const FileSystemError&) {  // then it stays
  }
}

void OutputDirectory::make() {
  if (lock_) return;
  try {
    files_.create_durable_directories(path_);
  } catch (const FileSystemError& error) {
    throw UsageError(fmt::format("--output_dir: {}", error.what()));
  }
  lock();
  is_made_here_ = true;
}

void OutputDirectory::lock() {
  lock_ = DirectoryLock::acquire(path_);
  if (lock_) return;
  throw UsageError(
      fmt::format("--output_dir: another lerobot-train is at work in '{}'. Wait until it has ended, stop it (it saves "
                  "first), or choose another folder",
                  path_.string()));
}

}  // namespace lerobot::train
