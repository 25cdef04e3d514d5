// Signals as requests: the program looks at them where it suits, instead of being cut off.
#pragma once

#include <csignal>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace lerobot::signals {

// From now on SIGINT, SIGTERM and SIGHUP ask the program to stop, and SIGUSR1 asks it to save. A second stop signal
// ends the process at once, with the exit code that stop_exit_code() gives; the same SIGTERM or SIGHUP again within a
// second counts as the first one. A signal that the parent process had ignored (nohup, a shell's background job) stays
// ignored. SIGPIPE is ignored, too: a reader of the output that goes away does not end the program.
void install_handlers();

std::optional<int> stop_requested();  // the signal
bool take_save_request();             // true once for each time that the program was asked to save

std::string name(int signal);    // "SIGTERM"
int stop_exit_code(int signal);  // 128 + signal: 130 for SIGINT, 143 for SIGTERM

// The program was asked to stop and has done what it could; what() says how to go on.
class Stopped : public std::exception {
 public:
  Stopped(int signal, std::string message) : signal_(signal), message_(std::move(message)) {}
  int signal() const { return signal_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int signal_;
  std::string message_;
};

// Throws Stopped when a stop is requested. For the time before there is anything to save.
void throw_if_stop_requested(const char* what_was_lost);

// Threads that are started while one of these lives never run a handler, so no system call of theirs is interrupted.
class BlockedInNewThreads {
 public:
  BlockedInNewThreads();
  ~BlockedInNewThreads();
  BlockedInNewThreads(const BlockedInNewThreads&) = delete;
  BlockedInNewThreads& operator=(const BlockedInNewThreads&) = delete;

 private:
  sigset_t before_;
};

}  // namespace lerobot::signals
