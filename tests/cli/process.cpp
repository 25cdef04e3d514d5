#include "cli/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

// Appends what is there; false at the end of the stream.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  if (access(command.at(0).c_str(), X_OK) != 0) throw std::runtime_error("not a program: " + command[0]);
  const auto out = make_pipe();
  const auto err = make_pipe();
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (process == 0) become(command, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);

  ProcessResult result;
  std::array<pollfd, 2> streams{pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    poll(streams.data(), streams.size(), -1);
    if (streams[0].revents != 0 && !read_some(out[0], result.out)) streams[0].fd = -1;
    if (streams[1].revents != 0 && !read_some(err[0], result.err)) streams[1].fd = -1;
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace lerobot::testing_support
