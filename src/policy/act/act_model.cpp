#include "lerobot/policy/act/act_model.hpp"

#include <ATen/ops/linear.h>
#include <torch/nn/init.h>
#include <torch/utils.h>

#include "lerobot/policy/act/positions.hpp"
#include "lerobot/policy/run_unit.hpp"

namespace lerobot::policy {
namespace {

constexpr const char* kState = "observation.state";
constexpr const char* kEnvState = "observation.environment_state";
constexpr const char* kAction = "action";

torch::Tensor project(const torch::nn::Linear& linear, const torch::Tensor& x) {
  return at::linear(x, linear->weight, linear->bias);
}

// A feature of shape [1] comes without its last dimension (dataset/batch.hpp).
torch::Tensor with_feature_dim(const torch::Tensor& x, int64_t dims) {
  return x.dim() < dims ? x.unsqueeze(-1) : x;
}

}  // namespace

ACT::ACT(const ACTConfig& config)
    : config_(config),
      has_state_(config.robot_state_feature() != nullptr),
      has_env_(config.env_state_feature() != nullptr) {
  for (const auto& [name, feature] : config_.image_features()) cameras_.push_back(name);
  if (config_.use_vae) add_vae_encoder();
  if (!cameras_.empty()) {
    backbone_ = register_module(
        "backbone", std::make_shared<ResNet>(config_.vision_backbone, config_.replace_final_stride_with_dilation));
  }
  encoder_ = register_module("encoder", std::make_shared<ACTEncoder>(config_, config_.n_encoder_layers));
  decoder_ = register_module("decoder", std::make_shared<ACTDecoder>(config_));
  add_input_projections();
  decoder_pos_embed_ =
      register_module("decoder_pos_embed", torch::nn::Embedding(config_.chunk_size, config_.dim_model));
  action_head_ = register_module("action_head", torch::nn::Linear(config_.dim_model, config_.action_dim()));
  draw_transformer();
}

void ACT::add_vae_encoder() {
  const int64_t dim = config_.dim_model;
  const int64_t n_tokens = 1 + (has_state_ ? 1 : 0) + config_.chunk_size;
  vae_encoder_ = register_module("vae_encoder", std::make_shared<ACTEncoder>(config_, config_.n_vae_encoder_layers));
  vae_encoder_cls_embed_ = register_module("vae_encoder_cls_embed", torch::nn::Embedding(1, dim));
  if (has_state_) {
    vae_encoder_robot_state_input_proj_ =
        register_module("vae_encoder_robot_state_input_proj", torch::nn::Linear(config_.state_dim(), dim));
  }
  vae_encoder_action_input_proj_ =
      register_module("vae_encoder_action_input_proj", torch::nn::Linear(config_.action_dim(), dim));
  vae_encoder_latent_output_proj_ =
      register_module("vae_encoder_latent_output_proj", torch::nn::Linear(dim, 2 * config_.latent_dim));
  vae_encoder_pos_enc_ = register_buffer("vae_encoder_pos_enc", sinusoidal_positions_1d(n_tokens, dim).unsqueeze(0));
}

void ACT::add_input_projections() {
  const int64_t dim = config_.dim_model;
  if (has_state_) {
    encoder_robot_state_input_proj_ =
        register_module("encoder_robot_state_input_proj", torch::nn::Linear(config_.state_dim(), dim));
  }
  if (has_env_) {
    encoder_env_state_input_proj_ =
        register_module("encoder_env_state_input_proj", torch::nn::Linear(config_.env_dim(), dim));
  }
  encoder_latent_input_proj_ = register_module("encoder_latent_input_proj", torch::nn::Linear(config_.latent_dim, dim));
  if (backbone_) {
    encoder_img_feat_input_proj_ =
        register_module("encoder_img_feat_input_proj",
                        torch::nn::Conv2d(torch::nn::Conv2dOptions(backbone_->out_channels(), dim, /*kernel=*/1)));
  }
  const int64_t n_1d_tokens = 1 + (has_state_ ? 1 : 0) + (has_env_ ? 1 : 0);
  encoder_1d_feature_pos_embed_ =
      register_module("encoder_1d_feature_pos_embed", torch::nn::Embedding(n_1d_tokens, dim));
}

// Every matrix of the transformer is drawn anew, Xavier uniform, after everything else was.
void ACT::draw_transformer() {
  for (const torch::nn::Module* part :
       {static_cast<torch::nn::Module*>(encoder_.get()), static_cast<torch::nn::Module*>(decoder_.get())}) {
    for (const auto& parameter : part->parameters())
      if (parameter.dim() > 1) torch::nn::init::xavier_uniform_(parameter);
  }
}

int64_t ACT::batch_size(const Batch& batch) const {
  return batch.at(cameras_.empty() ? kEnvState : cameras_.front()).size(0);
}

ACTOutput ACT::forward(const Batch& batch, const std::optional<torch::Tensor>& eps) {
  ACTOutput output;
  torch::Tensor latent;
  if (config_.use_vae && is_training()) {
    latent = sample_latent(batch, eps, output);
  } else {
    latent = torch::zeros({batch_size(batch), config_.latent_dim}, action_head_->weight.options());
  }
  const auto [tokens, positions] = encoder_input(batch, latent);
  const torch::Tensor memory = encoder_->forward(tokens, positions);

  // The decoder starts from zeros for every sample; one batch entry does until dropout or the memory tells samples
  // apart.
  const bool samples_differ = is_training() && config_.dropout > 0;
  const auto start =
      torch::zeros({config_.chunk_size, samples_differ ? memory.size(1) : 1, config_.dim_model}, positions.options());
  const auto decoded =
      decoder_->forward(start, memory, decoder_pos_embed_->weight.unsqueeze(1), positions);  // [S, B, D]
  output.actions = project(action_head_, decoded.transpose(0, 1));
  return output;
}

torch::Tensor ACT::sample_latent(const Batch& batch, const std::optional<torch::Tensor>& eps, ACTOutput& output) {
  const torch::Tensor action = with_feature_dim(batch.at(kAction), 3);
  const torch::Tensor& action_is_pad = batch.at("action_is_pad");
  const int64_t n = action.size(0);

  // [cls, state, actions], batch-first; no token carries a position.
  std::vector<torch::Tensor> tokens{vae_encoder_cls_embed_->weight.unsqueeze(0).expand({n, 1, config_.dim_model})};
  if (has_state_) {
    tokens.push_back(project(vae_encoder_robot_state_input_proj_, with_feature_dim(batch.at(kState), 2)).unsqueeze(1));
  }
  const auto n_leading = static_cast<int64_t>(tokens.size());
  tokens.push_back(project(vae_encoder_action_input_proj_, action));
  const auto attend = torch::cat({action_is_pad.new_ones({n, n_leading}), action_is_pad.logical_not()}, 1);

  const auto encoded =
      vae_encoder_->forward(torch::cat(tokens, 1).transpose(0, 1), vae_encoder_pos_enc_.transpose(0, 1), attend);
  const auto latent_parameters = project(vae_encoder_latent_output_proj_, encoded.select(0, 0)).chunk(2, -1);
  output.mu = latent_parameters[0];
  output.log_sigma_x2 = latent_parameters[1];
  return output.mu + output.log_sigma_x2.div(2).exp() * (eps ? *eps : torch::randn_like(output.mu));
}

std::pair<torch::Tensor, torch::Tensor> ACT::encoder_input(const Batch& batch, const torch::Tensor& latent) {
  std::vector<torch::Tensor> tokens{project(encoder_latent_input_proj_, latent).unsqueeze(0)};
  std::vector<torch::Tensor> positions{encoder_1d_feature_pos_embed_->weight.unsqueeze(1)};
  if (has_state_) {
    tokens.push_back(project(encoder_robot_state_input_proj_, with_feature_dim(batch.at(kState), 2)).unsqueeze(0));
  }
  if (has_env_) {
    tokens.push_back(project(encoder_env_state_input_proj_, with_feature_dim(batch.at(kEnvState), 2)).unsqueeze(0));
  }
  for (const std::string& camera : cameras_) {
    auto [camera_token, camera_position] = camera_tokens(batch.at(camera));
    tokens.push_back(std::move(camera_token));
    positions.push_back(std::move(camera_position));
  }
  return {torch::cat(tokens), torch::cat(positions)};
}

std::pair<torch::Tensor, torch::Tensor> ACT::camera_tokens(const torch::Tensor& images) {
  const torch::Tensor features = run_unit(*backbone_, [&] { return backbone_->forward(images); });
  const int64_t height = features.size(2);
  const int64_t width = features.size(3);
  // The 1x1 convolution as the product over pixels that it is.
  const auto pixels = features.flatten(2).transpose(1, 2);  // [B, h*w, C]
  const auto projected =
      at::linear(pixels, encoder_img_feat_input_proj_->weight.flatten(1), encoder_img_feat_input_proj_->bias);

  torch::Tensor& position = camera_positions_[{height, width}];
  const torch::Device device = features.device();
  if (!position.defined() || position.device() != device) {
    position = sinusoidal_positions_2d(height, width, config_.dim_model, device);
  }
  return {projected.transpose(0, 1), position};
}

}  // namespace lerobot::policy
