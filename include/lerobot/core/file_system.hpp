// The one door through which the project writes files. Its test twin (tests/support/fault_injection_file_system.hpp)
// fails or dies at the n-th operation, so that crash safety can be proved operation by operation.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "lerobot/core/error.hpp"

namespace lerobot {

// The system refused an operation. what() names the operation, the path and the system's reason.
class FileSystemError : public RunError {
 public:
  FileSystemError(const std::string& message, std::error_code code) : RunError(message), code_(code) {}
  std::error_code code() const { return code_; }  // of the generic category: compares with std::errc

 private:
  std::error_code code_;
};

// A file being written. Bytes are safe on disk only after sync(); close() is called by the destructor if it was not
// before, and then swallows errors. All errors are FileSystemError.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual void append(std::span<const std::byte> bytes) = 0;
  virtual void sync() = 0;  // fsync
  virtual void close() = 0;

  void append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }
};

// Operations that change the file system. Reading needs no seam: tests use real files. Changes of a directory's entries
// (create, rename, exchange, link, remove) are safe on disk only after sync_directory() of that directory. All errors
// are FileSystemError. Calls from several threads are fine.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual std::unique_ptr<WritableFile> create(const std::filesystem::path& path) = 0;  // truncates
  virtual std::unique_ptr<WritableFile> append_to(const std::filesystem::path& path) = 0;
  virtual void create_directories(const std::filesystem::path& path) = 0;
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;  // replaces `to`
  // Swaps two existing paths, of any kind, in one step. False, with nothing changed, where the system cannot do that.
  virtual bool exchange(const std::filesystem::path& a, const std::filesystem::path& b) = 0;
  // False, with nothing changed, on a file system without symbolic links (exFAT, some network and FUSE mounts).
  virtual bool create_symlink(const std::filesystem::path& target, const std::filesystem::path& link) = 0;
  virtual void remove_all(const std::filesystem::path& path) = 0;  // a tree or nothing there: both fine
  virtual void sync_directory(const std::filesystem::path& path) = 0;

  // create + append + sync + close.
  void write_file(const std::filesystem::path& path, std::string_view text);
  // create_directories, and sync_directory of what each new one stands in.
  void create_durable_directories(const std::filesystem::path& path);
};

// The real one. Stateless.
FileSystem& local_file_system();

}  // namespace lerobot
