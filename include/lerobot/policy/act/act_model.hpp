// The network of ACT (LeRobot: policies/act/modeling_act.py, class ACT).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lerobot/dataset/batch.hpp"
#include "lerobot/policy/act/act_config.hpp"
#include "lerobot/policy/act/act_transformer.hpp"
#include "lerobot/policy/resnet.hpp"

namespace lerobot::policy {

struct ACTOutput {
  torch::Tensor actions;  // [B, chunk_size, action_dim]
  // The latent's distribution, [B, latent_dim] each; undefined where the VAE encoder did not run.
  torch::Tensor mu;
  torch::Tensor log_sigma_x2;  // log(sigma^2)
};

// Modules are registered and drawn in LeRobot's order, so that names, optimizer indices and, for a given seed, the
// initial weights are LeRobot's.
class ACT : public torch::nn::Module {
 public:
  // Features of `config` must be known and valid (validate_features). Random weights; the pretrained backbone is the
  // policy's to load.
  explicit ACT(const ACTConfig& config);

  // Batch: observation.state [B, d], observation.environment_state [B, e], cameras [B, C, H, W] (sizes may differ),
  // and in training mode with use_vae action [B, S, A] and action_is_pad [B, S]. Otherwise the latent is zero.
  // eps [B, latent_dim] replaces the latent's standard normal draw.
  ACTOutput forward(const Batch& batch, const std::optional<torch::Tensor>& eps = std::nullopt);

  // Null without cameras.
  ResNet* backbone() const { return backbone_.get(); }

 private:
  void add_vae_encoder();
  void add_input_projections();
  void draw_transformer();

  // Fills mu and log_sigma_x2 of `output` and returns the latent, [B, latent_dim].
  torch::Tensor sample_latent(const Batch& batch, const std::optional<torch::Tensor>& eps, ACTOutput& output);
  // Tokens [n, B, D] and positions [n, 1, D] of the encoder's input.
  std::pair<torch::Tensor, torch::Tensor> encoder_input(const Batch& batch, const torch::Tensor& latent);
  // One camera's tokens [h*w, B, D] and positions [h*w, 1, D].
  std::pair<torch::Tensor, torch::Tensor> camera_tokens(const torch::Tensor& images);

  int64_t batch_size(const Batch& batch) const;

  ACTConfig config_;
  std::vector<std::string> cameras_;
  bool has_state_;
  bool has_env_;

  std::shared_ptr<ACTEncoder> vae_encoder_;
  torch::nn::Embedding vae_encoder_cls_embed_{nullptr};
  torch::nn::Linear vae_encoder_robot_state_input_proj_{nullptr};
  torch::nn::Linear vae_encoder_action_input_proj_{nullptr};
  torch::nn::Linear vae_encoder_latent_output_proj_{nullptr};
  torch::Tensor vae_encoder_pos_enc_;  // buffer [1, S+1 or S+2, D]
  std::shared_ptr<ResNet> backbone_;
  std::shared_ptr<ACTEncoder> encoder_;
  std::shared_ptr<ACTDecoder> decoder_;
  torch::nn::Linear encoder_robot_state_input_proj_{nullptr};
  torch::nn::Linear encoder_env_state_input_proj_{nullptr};
  torch::nn::Linear encoder_latent_input_proj_{nullptr};
  torch::nn::Conv2d encoder_img_feat_input_proj_{nullptr};
  torch::nn::Embedding encoder_1d_feature_pos_embed_{nullptr};
  torch::nn::Embedding decoder_pos_embed_{nullptr};
  torch::nn::Linear action_head_{nullptr};

  // 2-D positions by (height, width) of the feature map; they depend on nothing else.
  std::map<std::pair<int64_t, int64_t>, torch::Tensor> camera_positions_;
};

}  // namespace lerobot::policy
