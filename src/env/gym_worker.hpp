// A Python process that runs environments (lerobot_env_worker.py), and the requests to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym_process.hpp"
#include "gym_shared_memory.hpp"
#include "lerobot/core/file_descriptor.hpp"
#include "lerobot/env/gym_environment.hpp"

namespace lerobot::env {

// request() and read() are thread-safe.
class GymWorker {
 public:
  // Starts the process. `name` stands before its lines in the log; a quiet one logs nothing until its first environment
  // is made, as several that import the same packages all say the same. Throws UsageError.
  GymWorker(GymOptions options, std::string name, bool is_quiet = false);
  ~GymWorker();

  // Makes environment `index`, in two halves so that several workers make theirs at the same time. The second gives
  // the worker's description of it, and throws UsageError when it cannot be made.
  void begin_make(int64_t index);
  Json finish_make();

  // An operation of an environment. Throws RunError.
  Json request(const Json& request);

  // Copies from the memory that the answers point into. An environment's arrays stay until its own next operation.
  void read(size_t offset, std::span<std::byte> target);

  const GymOptions& options() const { return options_; }
  int64_t process_id() const { return process_.id(); }

 private:
  void send(const Json& request);
  Json receive(std::string_view operation, std::chrono::milliseconds timeout);
  void receive_bytes(std::span<char> target, std::string_view operation,
                     std::chrono::steady_clock::time_point deadline);
  [[noreturn]] void throw_ended(std::string_view operation);
  [[noreturn]] void throw_timed_out(std::string_view operation);
  [[noreturn]] void throw_not_made(const Json& error);
  void log_traceback(const Json& error) const;

  GymOptions options_;
  std::string name_;
  std::filesystem::path python_;
  SharedMemory memory_;
  FileDescriptor other_end_;  // the process's, until it has started
  FileDescriptor channel_;
  GymProcess process_;
  bool is_busy_ = false;                // with a request that it has not answered
  std::optional<std::string> failure_;  // why no request is answered any more
  std::mutex mutex_;
};

}  // namespace lerobot::env
