// Makes the start of threads fail.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace lerobot::testing_support {

// While it lives the process may grow by a few threads' stacks only, so that soon a thread cannot be started.
class NoRoomForThreads {
 public:
  NoRoomForThreads() {
    ::getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    constexpr rlim_t kRoom = 64 << 20;
    rlimit limited = before_;
    limited.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kRoom;
    ::setrlimit(RLIMIT_AS, &limited);
  }
  ~NoRoomForThreads() { ::setrlimit(RLIMIT_AS, &before_); }
  NoRoomForThreads(const NoRoomForThreads&) = delete;
  NoRoomForThreads& operator=(const NoRoomForThreads&) = delete;

 private:
  rlimit before_{};
};

}  // namespace lerobot::testing_support
