// From a program's outcome to its exit code and its last line on stderr.
#pragma once

#include <functional>
#include <string_view>

namespace lerobot::train {

// Runs `body` and returns the exit code: 0, 2 for a UsageError, 128 + signal when it was Stopped by one, 1 for every
// other failure. A failure is one message on stderr ("lerobot-train: error: …"), never a stack trace.
int run_program(std::string_view name, const std::function<void()>& body);

}  // namespace lerobot::train
