// The one door through which the project writes files. Its test twin (tests/support/fault_injection_file_system.hpp)
// fails or dies at the n-th operation, so that crash safety can be proved operation by operation.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace lerobot {

// A file being written. Bytes are safe on disk only after sync(); close() is called by the destructor if it was not
// before, and then swallows errors. All errors are RunError with the path and the system's reason.
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
// are RunError with the path and the system's reason.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual std::unique_ptr<WritableFile> create(const std::filesystem::path& path) = 0;  // truncates
  virtual std::unique_ptr<WritableFile> append_to(const std::filesystem::path& path) = 0;
  virtual void create_directories(const std::filesystem::path& path) = 0;
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;  // replaces `to`
  // Swaps two existing paths, of any kind, in one step. False, with nothing changed, where the system cannot do that.
  virtual bool exchange(const std::filesystem::path& a, const std::filesystem::path& b) = 0;
  virtual void create_symlink(const std::filesystem::path& target, const std::filesystem::path& link) = 0;
  virtual void remove_all(const std::filesystem::path& path) = 0;  // a tree or nothing there: both fine
  virtual void sync_directory(const std::filesystem::path& path) = 0;

  // create + append + sync + close.
  void write_file(const std::filesystem::path& path, std::string_view text);
};

// The real one. Stateless.
FileSystem& local_file_system();

}  // namespace lerobot
