// A child process that can't outlive this one, and what it said last.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lerobot/core/file_descriptor.hpp"

namespace lerobot::env {

struct ProcessStart {
  std::filesystem::path program;
  std::vector<std::string> arguments;    // without the program
  std::vector<std::string> environment;  // NAME=value
  std::vector<int> descriptors;          // open in the process as 3, 4, ...; all others are closed
  std::string label;                     // in front of its lines in the log
  bool is_quiet = false;                 // its lines are not logged until speak_up()
};

// The process has a process group of its own (a Ctrl-C at the terminal is not for it), no input, and its output and
// errors go to the log, line by line. Not thread-safe.
class GymProcess {
 public:
  // Throws UsageError when the program cannot be run.
  explicit GymProcess(ProcessStart start);
  ~GymProcess();  // kills it

  pid_t id() const { return id_; }
  bool has_ended();                                      // does not wait
  bool wait_for_end(std::chrono::milliseconds timeout);  // false: it runs still
  void speak_up() { is_quiet_ = false; }
  void send_signal(int signal);
  void kill();  // with all that it started in its group; returns when it is gone

  std::string how_it_ended() const;  // "was ended by signal 11 (Segmentation fault)"; "ended with exit code 1"
  std::string last_output();         // the last 4 KiB

 private:
  // The life of the keeper thread. The process asks the kernel to be killed when the thread that started it ends, so
  // that thread stays until the process is gone, and reads its output meanwhile.
  void keep(const ProcessStart& start, std::promise<pid_t> started);
  void read_output(int output);
  void add_output(std::string_view text);
  void say_line();

  std::string label_;
  std::atomic<bool> is_quiet_;
  pid_t id_ = -1;
  std::optional<int> status_;          // waitpid's
  FileDescriptor stop_, stop_signal_;  // a pipe whose writing end is closed to end the keeper

  std::mutex mutex_;
  std::string tail_, line_;
  std::thread keeper_;
};

}  // namespace lerobot::env
