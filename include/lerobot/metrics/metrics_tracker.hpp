// Running means between two log lines, and LeRobot's log line made of them.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lerobot/core/json.hpp"

namespace lerobot::metrics {

// The mean of one quantity over a log window. Values may be device scalars: they are kept as they are and read in one
// transfer when the mean is asked for, or when a great many have come together: adding one costs no synchronisation.
class AverageMeter {
 public:
  enum class Format { kFixed0, kFixed2, kFixed3, kExponent1 };
  enum class Counts { kAll, kFiniteOnly };  // which values the mean is of

  AverageMeter(std::string key, std::string label, Format format, Counts counts = Counts::kAll);

  const std::string& key() const { return key_; }
  void add(double value);
  void add(const torch::Tensor& value);  // 0-d, detached
  double mean();                         // 0 when nothing was added, as LeRobot prints it; reads the device
  void reset();
  std::string to_string();  // "loss:0.123"

 private:
  void read_pending();

  std::string key_;    // "grad_norm", the name in metrics.jsonl
  std::string label_;  // "grdn", the name in the log line
  Format format_;
  Counts counts_;
  double sum_ = 0.0;
  int64_t count_ = 0;
  std::vector<torch::Tensor> pending_;
};

// The meters of a training run and the counters that follow from the step: samples, episodes, epochs.
// Names, labels, formats and arithmetic are LeRobot's (utils/logging_utils.py).
class MetricsTracker {
 public:
  struct Options {
    int64_t batch_size = 1;  // per process
    int64_t num_frames = 1;
    int64_t num_episodes = 1;
    int64_t world_size = 1;
    int64_t initial_step = 0;
  };

  explicit MetricsTracker(Options options);

  // Meters appear in the log line in the order of their declaration. add() to a name that was not declared declares
  // it, with its key as label and three digits: a policy's own outputs.
  void declare(std::string key, std::string label, AverageMeter::Format format,
               AverageMeter::Counts counts = AverageMeter::Counts::kAll);
  void add(std::string_view key, double value);
  void add(std::string_view key, const torch::Tensor& value);

  void step() { ++steps_; }
  int64_t steps() const { return steps_; }
  double mean(std::string_view key);

  std::string line();  // "step:2 smpl:8 ep:1 epch:0.22 loss:6.149 …"
  Json record();       // the same in full precision: {"step": 2, "samples": 8, …, "loss": 6.1490…}
  void reset();        // starts the next window

 private:
  AverageMeter& meter(std::string_view key);

  Options options_;
  int64_t steps_;
  std::vector<AverageMeter> meters_;
};

}  // namespace lerobot::metrics
