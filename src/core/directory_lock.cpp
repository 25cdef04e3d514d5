#include "lerobot/core/directory_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "lerobot/core/file_system.hpp"

namespace lerobot {

std::optional<DirectoryLock> DirectoryLock::acquire(const std::filesystem::path& directory) {
  FileDescriptor descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) {
    const std::error_code code(errno, std::generic_category());
    throw FileSystemError(fmt::format("cannot open the directory {}: {}", directory.string(), code.message()), code);
  }
  if (::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
  return DirectoryLock(std::move(descriptor));
}

}  // namespace lerobot
