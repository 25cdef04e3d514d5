// One training step: forward, backward and, when the accumulation window is full, clip and gated update; schedule.
#pragma once

#include <torch/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lerobot/core/safetensors.hpp"
#include "lerobot/dataset/batch.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "lerobot/optim/scheduler.hpp"
#include "lerobot/policy/policy.hpp"
#include "lerobot/precision/grad_scaler.hpp"
#include "lerobot/precision/precision.hpp"

namespace lerobot::train {

struct StepOptions {
  double grad_clip_norm = 0.0;  // <= 0: gradients are not clipped and their norm is not measured
  precision::Precision precision = precision::Precision::kNo;
  torch::Device device = torch::kCPU;
  int64_t accumulation_steps = 1;  // batches whose gradients are averaged into one update, >= 1
  // Scales the loss, as float16 needs it; must outlive the step. Null: no scaling.
  precision::GradScaler* scaler = nullptr;
};

// All tensors stay on the device; nothing here waits for it.
struct StepResult {
  torch::Tensor loss;                      // 0-d, detached
  std::optional<torch::Tensor> grad_norm;  // 0-d, before clipping; only of an update, when clipping is on
  // Float32, 1 when the update was withheld because a gradient or, without a scaler, a loss of the window was not
  // finite. Absent: no update was due, the accumulation window goes on.
  std::optional<torch::Tensor> found_inf;
  std::optional<torch::Tensor> grad_scale;  // float32, 0-d, after this batch; only with a scaler
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
};

// Holds references; the policy, optimizer and scheduler must outlive it. `scheduler` may be null (constant lr).
class TrainStep {
 public:
  TrainStep(policy::Policy& policy, optim::Optimizer& optimizer, optim::Scheduler* scheduler, StepOptions options);

  // `batch`: preprocessed, on the device. LeRobot's order of operations (lerobot_train.py, update_policy); the
  // learning-rate schedule advances with every batch, whether or not an update was due or withheld.
  StepResult operator()(const Batch& batch);

  // The window that is not full yet: how many batches are in it, and their gradients ("grad/<i>", i counting the
  // optimizer's parameters; those without a gradient are absent). Empty between windows.
  int64_t accumulated_steps() const { return accumulated_steps_; }
  TensorMap accumulated_gradients() const;
  // Goes on with such a window. Throws UsageError naming `source` when a gradient does not fit.
  void resume_window(int64_t accumulated_steps, const TensorMap& gradients, std::string_view source);

 private:
  struct Update {
    std::optional<torch::Tensor> grad_norm;
    torch::Tensor found_inf;
  };

  policy::TrainingOutput forward(const Batch& batch);
  Update update();  // of the weights, with the gradients that are there

  policy::Policy& policy_;
  optim::Optimizer& optimizer_;
  optim::Scheduler* scheduler_;
  StepOptions options_;
  std::vector<torch::Tensor> parameters_;
  int64_t accumulated_steps_ = 0;
};

}  // namespace lerobot::train
