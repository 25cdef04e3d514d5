#include "cli/process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace lerobot::testing_support {
namespace {

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe2: ") + std::strerror(errno));
  return ends;
}

[[noreturn]] void become(const std::vector<std::string>& command, const ProcessOptions& options, int out, int err) {
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(127);
  for (const std::string& entry : options.environment) putenv(const_cast<char*>(entry.c_str()));
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options) {
  if (access(command.at(0).c_str(), X_OK) != 0) throw std::runtime_error("not a program: " + command[0]);
  const auto out = make_pipe();
  const auto err = make_pipe();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) become(command, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  streams_ = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
}

Process::~Process() {
  if (pid_ < 0) return;
  send(SIGKILL);
  wait();
}

void Process::send(int signal) const {
  kill(pid_, signal);
}

bool Process::has_ended() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

bool Process::read_some() {
  if (streams_[0].fd < 0 && streams_[1].fd < 0) return false;
  poll(streams_.data(), streams_.size(), -1);
  std::array<char, 4096> buffer{};
  for (pollfd& stream : streams_) {
    if (stream.fd < 0 || stream.revents == 0) continue;
    const ssize_t count = read(stream.fd, buffer.data(), buffer.size());
    if (count > 0) {
      (&stream == &streams_[0] ? result_.out : result_.err).append(buffer.data(), static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      close(stream.fd);
      stream.fd = -1;
    }
  }
  return true;
}

bool Process::wait_for(std::string_view text) {
  for (;;) {
    const size_t at = result_.err.find(text, seen_);
    if (at != std::string::npos) {
      seen_ = at + text.size();
      return true;
    }
    if (!read_some()) return false;
  }
}

ProcessResult Process::wait() {
  while (read_some()) {
  }
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  result_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result_;
}

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  return Process(command, options).wait();
}

}  // namespace lerobot::testing_support
