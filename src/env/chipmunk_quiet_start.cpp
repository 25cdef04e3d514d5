#include "chipmunk_quiet_start.hpp"

#include <chipmunk/chipmunk.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#ifdef __GLIBC__
#include <stdio_ext.h>
#endif

namespace lerobot::env {
namespace {

void make_first_space() {
  cpSpaceFree(cpSpaceNew());
}

#ifdef __GLIBC__

// Holds the lock of a stream and sends what is written meanwhile to another file descriptor.
class StreamDetour {
 public:
  StreamDetour(FILE* stream, int descriptor) : stream_(stream) {
    flockfile(stream_);
    std::fflush(stream_);
    // glibc decides on line buffering when it allocates the buffer, by what the descriptor is at that moment.
    if (__fbufsize(stream_) == 0 && isatty(stream_->_fileno)) std::setvbuf(stream_, nullptr, _IOLBF, 0);
    descriptor_ = stream_->_fileno;
    stream_->_fileno = descriptor;
  }
  ~StreamDetour() {
    std::fflush(stream_);
    stream_->_fileno = descriptor_;
    funlockfile(stream_);
  }
  StreamDetour(const StreamDetour&) = delete;
  StreamDetour& operator=(const StreamDetour&) = delete;

 private:
  FILE* stream_;
  int descriptor_;
};

bool make_first_space_silently() {
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) {
    make_first_space();
    return true;
  }
  {
    const StreamDetour detour(stdout, null);
    make_first_space();
  }
  close(null);
  return true;
}

#else

bool make_first_space_silently() {
  make_first_space();
  return true;
}

#endif

}  // namespace

void start_chipmunk_quietly() {
  [[maybe_unused]] static const bool started = make_first_space_silently();
}

}  // namespace lerobot::env
