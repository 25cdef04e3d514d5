// The folder that a run writes to.
#pragma once

#include <filesystem>
#include <optional>

#include "lerobot/core/directory_lock.hpp"
#include "lerobot/core/file_system.hpp"

namespace lerobot::train {

// Throws UsageError when nothing can be saved in `output_dir`, which need not exist yet: known before the first step
// instead of at the first save. Changes nothing on the disk.
void require_writable(const std::filesystem::path& output_dir);

// An output_dir belongs to one run at a time: another one would take the checkpoint that is being written for what a
// dead run left.
class OutputDirectory {
 public:
  // Locks the folder if it is there. Throws UsageError when another run is at work in it.
  OutputDirectory(FileSystem& files, std::filesystem::path path);
  ~OutputDirectory();  // a folder that was made here and got nothing in it goes again: it would refuse the next run
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  // Makes and locks the folder if it was not there. Throws UsageError as above, or FileSystemError.
  void make();

 private:
  void lock();

  FileSystem& files_;
  std::filesystem::path path_;
  std::optional<DirectoryLock> lock_;
  bool is_made_here_ = false;
};

}  // namespace lerobot::train
