// Runs a program as a user's shell would, with both of its outputs on pipes.
#pragma once

#include <filesystem>
#include <string>
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

// Waits for the end. Throws std::runtime_error when the program cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

}  // namespace lerobot::testing_support
