// One process at a time in a directory.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "lerobot/core/file_descriptor.hpp"

namespace lerobot {

// An advisory lock (flock(2)) on a directory itself: it leaves no file behind and goes with the process, however that
// ends. Child processes do not inherit it.
class DirectoryLock {
 public:
  // Nothing when another lock, of this process or another, holds the directory. Where the file system has no such locks
  // (some network mounts), the lock is granted and excludes nobody. Throws FileSystemError when the directory cannot be
  // opened.
  static std::optional<DirectoryLock> acquire(const std::filesystem::path& directory);

 private:
  explicit DirectoryLock(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}

  FileDescriptor descriptor_;
};

}  // namespace lerobot
