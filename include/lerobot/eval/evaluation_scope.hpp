// An evaluation in the middle of a training run, without a trace in it.
#pragma once

#include <torch/types.h>

#include "lerobot/policy/policy.hpp"

namespace lerobot::eval {

// While it lives, the policy stands in evaluation mode. At the end the policy is put back into the mode it came in, its
// queue of actions is emptied, and torch's default generators (the CPU's and `device`'s) go on from where they were at
// the beginning: what the evaluation drew was not drawn from training.
class EvaluationScope {
 public:
  EvaluationScope(policy::Policy& policy, torch::Device device);
  ~EvaluationScope();
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  policy::Policy& policy_;
  bool was_training_;
  torch::Device device_;
  torch::Tensor cpu_state_;
  torch::Tensor device_state_;  // undefined on the CPU
};

}  // namespace lerobot::eval
