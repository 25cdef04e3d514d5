// Saving while training goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "lerobot/checkpoint/checkpoint.hpp"
#include "lerobot/checkpoint/housekeeping.hpp"
#include "lerobot/core/file_system.hpp"

namespace lerobot::checkpoint {

// All calls from one thread. A save runs on a thread of its own, at most one at a time: the caller pays for the copy
// into main memory (snapshot) and, should the save before not be finished, for waiting. No signal is delivered to that
// thread, so handlers run on the others; it calls no operator of LibTorch that spreads over threads.
//
// A save that fails never throws: take_failure() has the message, and a failure that nobody took is logged at the end.
// A checkpoint that could not be removed for save_total_limit is a warning, not a failure.
class CheckpointWriter {
 public:
  struct Options {
    std::filesystem::path output_dir;
    int64_t total_steps = 0;                  // pads the folders' names
    std::optional<int64_t> save_total_limit;  // from 1 up; nullopt: all are kept
    bool async = true;                        // false: save() writes in place and makes no copy
  };
  CheckpointWriter(FileSystem& files, Options options);  // `files` must outlive this and be thread-safe
  ~CheckpointWriter();                                   // finishes the save under way
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits for the save before, then takes a snapshot and returns while a thread writes it (save_checkpoint), then
  // removes what save_total_limit says. Once it returned, the live tensors may change; see CheckpointContent for what
  // write_processors may touch. Each finished save is logged with its folder.
  void save(CheckpointContent content);

  // Waits until nothing is being written.
  void finish();

  // The message of a save that failed since the last call; does not wait.
  std::optional<std::string> take_failure();

 private:
  void write(const CheckpointContent& content);
  void fail(std::string message);

  FileSystem& files_;
  Options options_;
  std::thread thread_;
  std::mutex mutex_;                    // guards failure_
  std::optional<std::string> failure_;  // several: one a line
};

}  // namespace lerobot::checkpoint
