// A file system that goes wrong on purpose: at a chosen operation it fails once, or the process "dies" there, and
// afterwards the power can be cut, which takes away all that was not synced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "lerobot/core/file_system.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::testing_support {

enum class Fault {
  kError,  // that one operation throws FileSystemError; of an append half of the bytes arrive
  kCrash,  // that operation and every later one throw SimulatedCrash and change nothing (but half of an append)
};

// Thrown in place of dying. No std::exception, so that no handler takes it for an error to deal with.
struct SimulatedCrash {};

// Counts every operation of the seam (create, append, sync, close, create_directories, rename, exchange, symlink,
// remove_all, sync_directory) and passes it on to the real file system. Operations may come from several threads; the
// settings are made before.
class FaultInjectionFileSystem final : public FileSystem {
 public:
  // Operations are counted from 0 since construction. `reason` is what kError gives.
  void inject(Fault fault, int64_t operation, std::errc reason = std::errc::io_error);
  void forbid_exchange() { exchange_allowed_ = false; }
  void forbid_symlinks() { symlinks_allowed_ = false; }
  // Called before each operation with its number, on the thread that does it and without a lock: it may wait.
  void before_each_operation(std::function<void(int64_t)> hook) { hook_ = std::move(hook); }
  int64_t operations() const;

  // Brings the disk into the worst state that a power cut could leave: file contents beyond the last sync are gone, and
  // of each directory the changes since its last sync_directory.
  void lose_power();

  std::unique_ptr<WritableFile> create(const std::filesystem::path& path) override;
  std::unique_ptr<WritableFile> append_to(const std::filesystem::path& path) override;
  void create_directories(const std::filesystem::path& path) override;
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  bool exchange(const std::filesystem::path& a, const std::filesystem::path& b) override;
  bool create_symlink(const std::filesystem::path& target, const std::filesystem::path& link) override;
  void remove_all(const std::filesystem::path& path) override;
  void sync_directory(const std::filesystem::path& path) override;

 private:
  class File;

  // One change of a directory's entries that a power cut would undo.
  struct Change {
    enum class Kind { kCreated, kRenamed, kExchanged, kRemoved } kind;
    std::filesystem::path path;           // what was created or removed, or the new name
    std::filesystem::path other = {};     // the old name, or the other one of an exchange
    std::filesystem::path replaced = {};  // where that which stood at `path` before is kept; empty: nothing
  };

  using Lock = std::unique_lock<std::mutex>;

  // Counts one and throws if it is the chosen one. The state stays locked as long as the result lives.
  [[nodiscard]] Lock operation();
  void undo(const Change& change);
  std::filesystem::path keep(const std::filesystem::path& path);  // moves it out of the way; empty: nothing there
  void moved(const std::filesystem::path& from, const std::filesystem::path& to);

  FileSystem& real_ = local_file_system();
  TemporaryDirectory kept_;
  std::function<void(int64_t)> hook_;
  mutable std::mutex mutex_;  // guards what follows, and the real operations
  int64_t kept_count_ = 0;
  int64_t operations_ = 0;
  int64_t fault_operation_ = -1;
  Fault fault_ = Fault::kError;
  std::errc fault_reason_ = std::errc::io_error;
  bool crashed_ = false;
  bool exchange_allowed_ = true;
  bool symlinks_allowed_ = true;
  std::vector<Change> unsynced_changes_;
  std::map<std::filesystem::path, std::uintmax_t> unsynced_files_;  // path -> bytes that are safe
};

}  // namespace lerobot::testing_support
