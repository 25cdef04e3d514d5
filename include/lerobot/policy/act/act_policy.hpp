// ACT as a policy: losses, action queue, parameter groups (LeRobot: policies/act/modeling_act.py, class ACTPolicy).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "lerobot/policy/act/act_config.hpp"
#include "lerobot/policy/act/act_model.hpp"
#include "lerobot/policy/act/temporal_ensembler.hpp"
#include "lerobot/policy/policy.hpp"

namespace lerobot::policy {

// Metrics: l1_loss, and kld_loss (before kl_weight) where the VAE runs.
class ACTPolicy : public Policy {
 public:
  // Fresh weights on the CPU. The pretrained backbone is read unless config.pretrained_path says that a checkpoint
  // will replace it. Throws UsageError for features that ACT cannot work with, and as load_backbone_weights.
  explicit ACTPolicy(ACTConfig config);

  const ACTConfig& config() const override { return config_; }
  TrainingOutput training_forward(const Batch& batch) override { return training_forward(batch, std::nullopt); }
  // eps [B, latent_dim] in place of the latent's random draw.
  TrainingOutput training_forward(const Batch& batch, const std::optional<torch::Tensor>& eps);
  // Both switch the policy to evaluation mode and leave it there.
  torch::Tensor predict_action_chunk(const Batch& batch) override;
  torch::Tensor select_action(const Batch& batch) override;
  void reset() override;
  // Group 0: all but the backbone; group 1, at optimizer_lr_backbone: the backbone, empty without cameras.
  std::vector<ParameterGroup> parameter_groups() const override;

  ACT& model() { return *model_; }

 private:
  ACTConfig config_;
  std::shared_ptr<ACT> model_;
  std::optional<TemporalEnsembler> temporal_ensembler_;
  std::deque<torch::Tensor> action_queue_;  // [B, A] each
};

}  // namespace lerobot::policy
