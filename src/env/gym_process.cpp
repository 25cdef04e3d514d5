#include "gym_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/signals.hpp"

namespace lerobot::env {
namespace {

constexpr size_t kTailSize = 4096;
constexpr size_t kLongestLine = 4096;
constexpr auto kPollInterval = std::chrono::milliseconds(5);

// Both ends are closed in processes that are started.
std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// posix_spawn's two descriptions of the new process.
class SpawnAttributes {
 public:
  SpawnAttributes(const std::vector<int>& descriptors, int output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    int number = STDERR_FILENO + 1;
    for (const int descriptor : descriptors) ::posix_spawn_file_actions_adddup2(&actions_, descriptor, number++);
#if defined(__GLIBC__)
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, number);
#endif

    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawn_file_actions_t* actions() const {
    return &actions_;
  }
  const posix_spawnattr_t* attributes() const {
    return &attributes_;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Numbers above those that the process will use, so that no dup2 overwrites one that is still to be copied.
std::vector<FileDescriptor> moved_up(const std::vector<int>& descriptors) {
  const int lowest = STDERR_FILENO + 1 + static_cast<int>(descriptors.size());
  std::vector<FileDescriptor> moved;
  for (const int descriptor : descriptors) {
    moved.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, lowest));
    if (moved.back().get() < 0) {
      throw RunError(fmt::format("cannot copy a file descriptor: {}", std::strerror(errno)));
    }
  }
  return moved;
}

pid_t spawn(const ProcessStart& start, const FileDescriptor& output) {
  std::vector<std::string> arguments = start.arguments;
  arguments.insert(arguments.begin(), start.program.string());
  std::vector<std::string> environment = start.environment;

  std::vector<int> originals = start.descriptors;
  originals.push_back(output.get());
  const std::vector<FileDescriptor> moved = moved_up(originals);
  std::vector<int> descriptors;
  for (const FileDescriptor& descriptor : moved) descriptors.push_back(descriptor.get());
  const int moved_output = descriptors.back();
  descriptors.pop_back();

  const SpawnAttributes attributes(descriptors, moved_output);
  pid_t id = -1;
  const int error = ::posix_spawn(&id, start.program.c_str(), attributes.actions(), attributes.attributes(),
                                  pointers(arguments).data(), pointers(environment).data());
  if (error != 0) throw UsageError(fmt::format("cannot run '{}': {}", start.program.string(), std::strerror(error)));
  return id;
}

}  // namespace

GymProcess::GymProcess(ProcessStart start) : label_(start.label), is_quiet_(start.is_quiet) {
  std::tie(stop_signal_, stop_) = make_pipe();
  std::promise<pid_t> started;
  std::future<pid_t> id = started.get_future();
  {
    const signals::BlockedInNewThreads no_handlers;
    keeper_ = std::thread(
        [this, start = std::move(start), started = std::move(started)]() mutable { keep(start, std::move(started)); });
  }
  try {
    id_ = id.get();
  } catch (...) {
    keeper_.join();
    throw;
  }
}

GymProcess::~GymProcess() {
  kill();
  stop_.close();
  if (keeper_.joinable()) keeper_.join();
}

void GymProcess::keep(const ProcessStart& start, std::promise<pid_t> started) {
  FileDescriptor output, input;
  try {
    std::tie(output, input) = make_pipe();
    const pid_t id = spawn(start, input);
    input.close();
    started.set_value(id);
  } catch (...) {
    started.set_exception(std::current_exception());
    return;
  }
  read_output(output.get());
}

// Until the process is known to be gone and nothing is left to read.
void GymProcess::read_output(int output) {
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  bool is_open = true, is_stopping = false;
  while (!is_stopping) {
    std::array<pollfd, 2> waiting{pollfd{stop_signal_.get(), POLLIN, 0}, pollfd{is_open ? output : -1, POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    is_stopping = waiting[0].revents != 0;
    while (is_open) {
      std::array<char, 4096> buffer;
      const ssize_t size = ::read(output, buffer.data(), buffer.size());
      if (size > 0) {
        add_output({buffer.data(), static_cast<size_t>(size)});
      } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        is_open = false;
      } else if (errno == EAGAIN) {
        break;
      }
    }
  }
  if (!line_.empty()) say_line();
}

void GymProcess::add_output(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    tail_ += text;
    if (tail_.size() > kTailSize) tail_.erase(0, tail_.size() - kTailSize);
  }
  for (const char letter : text) {
    const bool is_end = letter == '\n' || letter == '\r';  // progress bars only ever return
    if (!is_end) line_ += letter;
    if ((is_end && !line_.empty()) || line_.size() == kLongestLine) say_line();
  }
}

void GymProcess::say_line() {
  if (!is_quiet_) log::info(fmt::format("{}: {}", label_, line_));
  line_.clear();
}

bool GymProcess::has_ended() {
  return wait_for_end(std::chrono::milliseconds(0));
}

bool GymProcess::wait_for_end(std::chrono::milliseconds timeout) {
  if (status_) return true;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    siginfo_t info{};
    const int result = ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (result != 0 && errno != EINTR) {  // somebody else has waited for it
      status_ = 0;
      break;
    }
    if (result == 0 && info.si_pid == id_) {
      ::kill(-id_, SIGKILL);  // what it started; before its id can be anybody else's
      int status = 0;
      ::waitpid(id_, &status, 0);
      status_ = status;
      break;
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  stop_.close();
  keeper_.join();
  return true;
}

void GymProcess::send_signal(int signal) {
  if (!has_ended()) ::kill(id_, signal);
}

void GymProcess::kill() {
  // A process that waits for a device cannot be ended yet; it is left to the kernel then.
  for (int attempt = 0; attempt < 5 && !has_ended(); ++attempt) {
    ::kill(-id_, SIGKILL);
    wait_for_end(std::chrono::seconds(1));
  }
}

std::string GymProcess::how_it_ended() const {
  if (!status_) return "runs";
  if (WIFSIGNALED(*status_)) {
    return fmt::format("was ended by signal {} ({})", WTERMSIG(*status_), ::strsignal(WTERMSIG(*status_)));
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(*status_));
}

std::string GymProcess::last_output() {
  const std::lock_guard lock(mutex_);
  if (tail_.size() < kTailSize) return tail_;
  return tail_.substr(tail_.find('\n') + 1);  // whole lines
}

}  // namespace lerobot::env
