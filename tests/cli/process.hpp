// Runs a program as a user's shell would, with both of its outputs on pipes.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lerobot::testing_support {

struct ProcessOptions {
  std::filesystem::path directory;       // working directory; empty: this process's
  std::vector<std::string> environment;  // "NAME=value", added to this process's
};

struct ProcessResult {
  int exit_code = -1;  // a process that a signal ended counts as 128 + signal, as in a shell
  std::string out;
  std::string err;
};

// A program that is running. The destructor kills it if nobody has waited for its end.
class Process {
 public:
  // Throws std::runtime_error when the program cannot be started.
  explicit Process(const std::vector<std::string>& command, const ProcessOptions& options = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Reads until `text` stands in the part of stderr that no wait_for has passed yet. False: the program ended first.
  bool wait_for(std::string_view text);
  void send(int signal) const;
  bool has_ended() const;  // as a zombie, until wait()
  ProcessResult wait();

 private:
  bool read_some();  // waits for output; false when both streams have ended

  pid_t pid_ = -1;
  std::array<pollfd, 2> streams_{};  // stdout, stderr
  ProcessResult result_;
  size_t seen_ = 0;
};

// Waits for the end.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

}  // namespace lerobot::testing_support
