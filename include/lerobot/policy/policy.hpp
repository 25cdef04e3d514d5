// The interface of a policy. A policy is a torch module whose state_dict names equal LeRobot's, so that checkpoints
// pass both ways.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lerobot/config/policy_config.hpp"
#include "lerobot/core/safetensors.hpp"
#include "lerobot/dataset/batch.hpp"

namespace lerobot::policy {

struct TrainingOutput {
  torch::Tensor loss;  // scalar, on the device, attached to the graph
  // Named scalars for the log (detached, on the device), in LeRobot's order: {"l1_loss", ...}. Read only at log steps.
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
};

// Parameters that share optimizer settings. Index in the optimizer's state files = running count over groups.
struct ParameterGroup {
  std::vector<std::string> names;
  std::vector<torch::Tensor> parameters;
  std::optional<double> lr;  // nullopt: the optimizer's
};

// Not thread-safe. Inputs are normalised batches (processor room) on the policy's device.
class Policy : public torch::nn::Module {
 public:
  virtual const PolicyConfig& config() const = 0;

  // Loss of one training batch; honours is_training() for dropout and the like.
  virtual TrainingOutput training_forward(const Batch& batch) = 0;

  // Whole chunk of normalised actions [B, n, A] for the current observation; no gradient, evaluation mode.
  virtual torch::Tensor predict_action_chunk(const Batch& batch) = 0;
  // The next action [B, A]; keeps a queue between calls. reset() empties it at the start of an episode.
  virtual torch::Tensor select_action(const Batch& batch) = 0;
  virtual void reset() = 0;

  // LeRobot's parameter groups for the training preset.
  virtual std::vector<ParameterGroup> parameter_groups() const = 0;
};

// Named parameters and buffers as model.safetensors holds them, detached. They share memory with the policy: clone
// what must outlive the next optimizer step.
TensorMap state_dict(const Policy& policy);

struct LoadReport {
  std::vector<std::string> missing;     // in the policy, not in the file
  std::vector<std::string> unexpected;  // in the file, not in the policy
  std::vector<std::string> superseded;  // normalisation statistics, which LeRobot before 0.4 kept among the weights
  std::map<torch::ScalarType, int64_t> converted;  // how many tensors of another floating-point type there were
};

// Copies `tensors` into the policy, casting between floating-point types (F16/BF16/F64 to F32). Throws UsageError
// naming `source` (the file), every tensor of a wrong shape or kind of dtype and the setting that most likely explains
// the shapes, before anything is copied; also when no tensor is the policy's. The rest is returned for the caller to
// report. `num_batches_tracked` of a frozen batch norm is dropped, as LeRobot does.
LoadReport load_state_dict(Policy& policy, const TensorMap& tensors, std::string_view source = "the checkpoint");

}  // namespace lerobot::policy
