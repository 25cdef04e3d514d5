// The two kinds of failure a program can report. Messages are for the person at the prompt: what is wrong, the value
// given, what is accepted, and the flag or file to change.
#pragma once

#include <stdexcept>
#include <string>

namespace lerobot {

// Base of both. what() is a complete message, without "error:" in front and without a newline at the end.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The user can fix it by changing the command, a file or the machine's set-up. Exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// The run failed: disk full, a corrupt frame in the middle of training. Exit code 1.
class RunError : public Error {
 public:
  using Error::Error;
};

}  // namespace lerobot
