// What acts in a rollout: everything that stands between the observations of B environments and their actions.
#pragma once

#include <torch/types.h>

#include <string>

#include "lerobot/dataset/batch.hpp"
#include "lerobot/policy/policy.hpp"
#include "lerobot/precision/precision.hpp"
#include "lerobot/processor/pipeline.hpp"

namespace lerobot::eval {

// Not thread-safe.
class Actor {
 public:
  virtual ~Actor() = default;

  // A rollout begins: forgets what was queued for the one before.
  virtual void reset() = 0;

  // `observations` as observation_batch() makes them. Actions [B, A] in the environments' units, floating-point, on the
  // CPU. `environment` is the environments' name, for messages.
  virtual torch::Tensor act(Batch observations, const std::string& environment) = 0;
};

// A policy between its processors, without gradients. select_action alone runs under autocast, a scope for each call.
// Policy and processors are the caller's, may be those of a training run, and must outlive this. The policy should
// stand in evaluation mode (EvaluationScope).
class PolicyActor final : public Actor {
 public:
  PolicyActor(policy::Policy& policy, processor::PolicyProcessors& processors, torch::Device device,
              precision::Precision precision = precision::Precision::kNo);

  void reset() override;

  // Throws UsageError naming an input that the policy reads and the environment does not give (with what it gives, and
  // --rename_map as the way out), or gives in another size.
  torch::Tensor act(Batch observations, const std::string& environment) override;

 private:
  policy::Policy& policy_;
  processor::PolicyProcessors& processors_;
  torch::Device device_;
  precision::Precision precision_;
};

}  // namespace lerobot::eval
