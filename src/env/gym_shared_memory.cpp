#include "gym_shared_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "lerobot/core/error.hpp"

namespace lerobot::env {
namespace {

RunError failure(const char* what) {
  return RunError(fmt::format("{} failed for the memory shared with an environment: {}", what, std::strerror(errno)));
}

}  // namespace

FileDescriptor make_anonymous_file() {
#if defined(__linux__)
  FileDescriptor file(::memfd_create("lerobot_env", MFD_CLOEXEC));
  if (file.get() < 0) throw failure("memfd_create");
#else
  std::string name = (std::filesystem::temp_directory_path() / "lerobot_env_XXXXXX").string();
  FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.get() < 0) throw failure("mkostemp");
  ::unlink(name.c_str());
#endif
  return file;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void SharedMemory::map(size_t size) {
  if (data_ != nullptr) ::munmap(std::exchange(data_, nullptr), std::exchange(size_, 0));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (data == MAP_FAILED) throw failure("mmap");
  data_ = static_cast<std::byte*>(data);
  size_ = size;
}

std::span<const std::byte> SharedMemory::read(size_t offset, size_t size) {
  if (offset + size > size_) {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw failure("fstat");
    const auto available = static_cast<size_t>(status.st_size);
    if (offset + size > available || offset + size < offset) {
      throw RunError(fmt::format("an environment's arrays should lie at {} bytes of {}, in memory of {}", size, offset,
                                 available));
    }
    map(available);
  }
  return {data_ + offset, size};
}

}  // namespace lerobot::env
