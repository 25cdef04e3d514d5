// Configuration of ACT, the Action Chunking Transformer (LeRobot: policies/act/configuration_act.py;
// https://arxiv.org/abs/2304.13705).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/config/policy_config.hpp"

namespace lerobot::policy {

// Fields in the order of LeRobot's config.json, after those of PolicyConfig.
struct ACTConfig : PolicyConfig {
  int64_t chunk_size = 100;
  int64_t n_action_steps = 100;
  NormalizationMap normalization_mapping = {{"VISUAL", NormalizationMode::kMeanStd},
                                            {"STATE", NormalizationMode::kMeanStd},
                                            {"ACTION", NormalizationMode::kMeanStd}};
  std::string vision_backbone = "resnet18";
  // A torchvision weights name or a local file (policy/resnet_weights.hpp); nullopt: random initial weights.
  std::optional<std::string> pretrained_backbone_weights = "ResNet18_Weights.IMAGENET1K_V1";
  bool replace_final_stride_with_dilation = false;
  bool pre_norm = false;
  int64_t dim_model = 512;
  int64_t n_heads = 8;
  int64_t dim_feedforward = 3200;
  std::string feedforward_activation = "relu";
  int64_t n_encoder_layers = 4;
  int64_t n_decoder_layers = 1;
  bool use_vae = true;
  int64_t latent_dim = 32;
  int64_t n_vae_encoder_layers = 4;
  std::optional<double> temporal_ensemble_coeff;
  double dropout = 0.1;
  double kl_weight = 10.0;
  double optimizer_lr = 1e-5;
  double optimizer_weight_decay = 1e-4;
  double optimizer_lr_backbone = 1e-5;

  std::string type() const override { return "act"; }
  std::unique_ptr<PolicyConfig> clone() const override { return std::make_unique<ACTConfig>(*this); }
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;

  const NormalizationMap& normalization() const override { return normalization_mapping; }
  std::optional<std::vector<int64_t>> observation_delta_indices() const override { return std::nullopt; }
  std::optional<std::vector<int64_t>> action_delta_indices() const override;  // 0 … chunk_size-1
  // AdamW at a constant learning rate; the backbone's rate comes with the policy's parameter groups.
  std::unique_ptr<OptimizerConfig> optimizer_preset() const override;
  std::unique_ptr<SchedulerConfig> scheduler_preset() const override;  // null
  void validate_features(config::Problems& problems) const override;

  int64_t state_dim() const;  // 0 without robot state
  int64_t env_dim() const;    // 0 without environment state
  int64_t action_dim() const;

 private:
  void validate_backbone(config::Problems& problems) const;
};

}  // namespace lerobot::policy
