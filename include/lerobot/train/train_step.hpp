// One training step: forward, backward, clip, gated update, schedule.
#pragma once

#include <torch/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lerobot/dataset/batch.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "lerobot/optim/scheduler.hpp"
#include "lerobot/policy/policy.hpp"
#include "lerobot/precision/precision.hpp"

namespace lerobot::train {

struct StepOptions {
  double grad_clip_norm = 0.0;  // <= 0: gradients are not clipped and their norm is not measured
  precision::Precision precision = precision::Precision::kNo;
  torch::Device device = torch::kCPU;
};

// All tensors stay on the device; nothing here waits for it.
struct StepResult {
  torch::Tensor loss;                      // 0-d, detached
  std::optional<torch::Tensor> grad_norm;  // 0-d, before clipping; only when clipping is on
  torch::Tensor found_inf;                 // float32, 1 when the update was withheld because a gradient was not finite
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
};

// Holds references; the policy, optimizer and scheduler must outlive it. `scheduler` may be null (constant lr).
class TrainStep {
 public:
  TrainStep(policy::Policy& policy, optim::Optimizer& optimizer, optim::Scheduler* scheduler, StepOptions options);

  // `batch`: preprocessed, on the device. LeRobot's order of operations (lerobot_train.py, update_policy); the
  // learning-rate schedule advances whether or not the update was withheld.
  StepResult operator()(const Batch& batch);

 private:
  struct Gradients {
    std::optional<torch::Tensor> norm;
    torch::Tensor found_inf;
  };

  policy::TrainingOutput forward(const Batch& batch);
  Gradients finish_gradients();  // clips them in place

  policy::Policy& policy_;
  optim::Optimizer& optimizer_;
  optim::Scheduler* scheduler_;
  StepOptions options_;
  std::vector<torch::Tensor> parameters_;
};

}  // namespace lerobot::train
