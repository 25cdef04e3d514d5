// Memory that this process and a worker see. The worker makes it larger, this side reads.
#pragma once

#include <cstddef>
#include <span>

#include "lerobot/core/file_descriptor.hpp"

namespace lerobot::env {

// A file without a name, in memory where the system has that. Throws RunError.
FileDescriptor make_anonymous_file();

class SharedMemory {
 public:
  SharedMemory() : file_(make_anonymous_file()) {}
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int descriptor() const { return file_.get(); }

  // Throws RunError when the memory is not that large.
  std::span<const std::byte> read(size_t offset, size_t size);

 private:
  void map(size_t size);

  FileDescriptor file_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;  // of what is mapped
};

}  // namespace lerobot::env
