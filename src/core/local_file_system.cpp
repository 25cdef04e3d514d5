// POSIX files behind the FileSystem seam.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include "lerobot/core/error.hpp"
#include "lerobot/core/file_descriptor.hpp"
#include "lerobot/core/file_system.hpp"

namespace lerobot {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view what, const fs::path& path, int error) {
  const std::error_code code(error, std::generic_category());
  throw FileSystemError(fmt::format("cannot {} {}: {}", what, path.string(), code.message()), code);
}

// open(2) that survives a signal. The descriptor is not inherited by child processes.
FileDescriptor open_descriptor(const fs::path& path, int flags, std::string_view what) {
  constexpr mode_t kAsUmaskSays = 0666;
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, kAsUmaskSays);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) fail(what, path, errno);
  return FileDescriptor(descriptor);
}

// fsync(2); on Apple the call that also empties the drive's own cache. Returns 0 or the error number.
int flush_to_disk(int descriptor) {
#ifdef F_FULLFSYNC
  if (::fcntl(descriptor, F_FULLFSYNC) == 0) return 0;  // not every file system has it: fall through to fsync
#endif
  int result = -1;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

class LocalFile final : public WritableFile {
 public:
  LocalFile(fs::path path, FileDescriptor descriptor) : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  using WritableFile::append;
  void append(std::span<const std::byte> bytes) override {
    constexpr size_t kLargestWrite = size_t{1} << 30;  // one write(2) moves less than 2 GiB
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_.get(), bytes.data(), std::min(bytes.size(), kLargestWrite));
      if (written < 0) {
        if (errno == EINTR) continue;
        fail("write to", path_, errno);
      }
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

  void sync() override {
    if (const int error = flush_to_disk(descriptor_.get())) fail("flush", path_, error);
  }

  void close() override {
    if (descriptor_.get() < 0) return;
    // The descriptor is gone whatever close(2) says; EINTR is no loss after sync().
    if (::close(descriptor_.release()) != 0 && errno != EINTR) fail("close", path_, errno);
  }

 private:
  fs::path path_;
  FileDescriptor descriptor_;
};

class LocalFileSystem final : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const fs::path& path) override {
    return std::make_unique<LocalFile>(path, open_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC, "create"));
  }

  std::unique_ptr<WritableFile> append_to(const fs::path& path) override {
    return std::make_unique<LocalFile>(path, open_descriptor(path, O_WRONLY | O_CREAT | O_APPEND, "open"));
  }

  void create_directories(const fs::path& path) override {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) fail("create the directory", path, error.value());
  }

  void rename(const fs::path& from, const fs::path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      fail(fmt::format("rename {} to", from.string()), to, errno);
    }
  }

  bool exchange(const fs::path& a, const fs::path& b) override {
#if defined(RENAME_EXCHANGE)  // Linux
    const int result = ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
#elif defined(RENAME_SWAP)  // Apple
    const int result = ::renamex_np(a.c_str(), b.c_str(), RENAME_SWAP);
#else
    const int result = -1;
    errno = ENOSYS;
#endif
    if (result == 0) return true;
    // An old kernel, or a file system (NFS, some FUSE) without this operation.
    if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
    fail(fmt::format("exchange {} with", a.string()), b, errno);
  }

  bool create_symlink(const fs::path& target, const fs::path& link) override {
    if (::symlink(target.c_str(), link.c_str()) == 0) return true;
    // EPERM also stands for a folder that may not be changed; then the caller's next operation says so.
    if (errno == EPERM || errno == ENOSYS || errno == ENOTSUP || errno == EOPNOTSUPP) return false;
    fail("create the symbolic link", link, errno);
  }

  void remove_all(const fs::path& path) override {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) fail("remove", path, error.value());
  }

  void sync_directory(const fs::path& path) override {
    const fs::path directory = path.empty() ? fs::path(".") : path;
    const FileDescriptor descriptor = open_descriptor(directory, O_RDONLY | O_DIRECTORY, "open the directory");
    const int error = flush_to_disk(descriptor.get());
    // Some network file systems cannot flush a directory; their renames are as durable as they get.
    if (error != 0 && error != EINVAL && error != ENOTSUP) fail("flush the directory", directory, error);
  }
};

}  // namespace

void FileSystem::write_file(const fs::path& path, std::string_view text) {
  const std::unique_ptr<WritableFile> file = create(path);
  file->append(text);
  file->sync();
  file->close();
}

void FileSystem::create_durable_directories(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code ignored;  // what may not be looked at may not be created either
  for (fs::path above = path; !above.empty() && !fs::exists(above, ignored); above = above.parent_path()) {
    missing.push_back(above);
  }
  if (missing.empty()) return;
  create_directories(path);
  for (const fs::path& created : missing) sync_directory(created.parent_path());
}

FileSystem& local_file_system() {
  static LocalFileSystem files;
  return files;
}

}  // namespace lerobot
