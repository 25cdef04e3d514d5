#include "lerobot/policy/act/act_policy.hpp"

#include <ATen/core/Reduction.h>
#include <ATen/ops/l1_loss.h>
#include <torch/utils.h>

#include "lerobot/policy/resnet_weights.hpp"

namespace lerobot::policy {
namespace {

constexpr std::string_view kBackbonePrefix = "model.backbone";

// Mean absolute error over what is not padding; 0 where all of it is.
torch::Tensor masked_l1_loss(const torch::Tensor& actions, const torch::Tensor& target, const torch::Tensor& is_pad) {
  const auto error = at::l1_loss(target, actions, at::Reduction::None);  // [B, S, A]
  const auto valid = is_pad.logical_not().unsqueeze(-1);
  return (error * valid).sum() / (valid.sum() * error.size(-1)).clamp_min(1);
}

// Divergence of N(mu, sigma^2) from N(0, 1): summed over the latent, mean over the batch
// (https://arxiv.org/abs/1312.6114, appendix B).
torch::Tensor kl_divergence(const torch::Tensor& mu, const torch::Tensor& log_sigma_x2) {
  return (-0.5 * (1 + log_sigma_x2 - mu.pow(2) - log_sigma_x2.exp())).sum(-1).mean();
}

}  // namespace

ACTPolicy::ACTPolicy(ACTConfig config) : config_(std::move(config)) {
  config::Problems problems;
  {
    const auto scope = problems.enter("policy");
    config_.validate_features(problems);
  }
  problems.throw_if_any();
  model_ = register_module("model", std::make_shared<ACT>(config_));
  if (model_->backbone() && config_.pretrained_backbone_weights && !config_.pretrained_path) {
    load_backbone_weights(*model_->backbone(), config_.vision_backbone, *config_.pretrained_backbone_weights);
  }
  if (config_.temporal_ensemble_coeff) {
    temporal_ensembler_.emplace(*config_.temporal_ensemble_coeff, config_.chunk_size);
  }
}

TrainingOutput ACTPolicy::training_forward(const Batch& batch, const std::optional<torch::Tensor>& eps) {
  const ACTOutput output = model_->forward(batch, eps);
  torch::Tensor target = batch.at("action");
  if (target.dim() < 3) target = target.unsqueeze(-1);
  const auto l1_loss = masked_l1_loss(output.actions, target, batch.at("action_is_pad"));
  if (!output.mu.defined()) return {l1_loss, {{"l1_loss", l1_loss.detach()}}};

  const auto kld_loss = kl_divergence(output.mu, output.log_sigma_x2);
  return {l1_loss + kld_loss * config_.kl_weight, {{"l1_loss", l1_loss.detach()}, {"kld_loss", kld_loss.detach()}}};
}

torch::Tensor ACTPolicy::predict_action_chunk(const Batch& batch) {
  torch::NoGradGuard no_grad;
  eval();
  return model_->forward(batch).actions;
}

torch::Tensor ACTPolicy::select_action(const Batch& batch) {
  torch::NoGradGuard no_grad;
  eval();
  if (temporal_ensembler_) return temporal_ensembler_->update(predict_action_chunk(batch));
  if (action_queue_.empty()) {
    const auto actions = predict_action_chunk(batch).slice(1, 0, config_.n_action_steps).unbind(1);
    action_queue_.assign(actions.begin(), actions.end());
  }
  torch::Tensor action = std::move(action_queue_.front());
  action_queue_.pop_front();
  return action;
}

void ACTPolicy::reset() {
  action_queue_.clear();
  if (temporal_ensembler_) temporal_ensembler_->reset();
}

std::vector<ParameterGroup> ACTPolicy::parameter_groups() const {
  ParameterGroup rest, backbone;
  backbone.lr = config_.optimizer_lr_backbone;
  for (const auto& parameter : named_parameters()) {
    if (!parameter.value().requires_grad()) continue;
    ParameterGroup& group = parameter.key().starts_with(kBackbonePrefix) ? backbone : rest;
    group.names.push_back(parameter.key());
    group.parameters.push_back(parameter.value());
  }
  return {rest, backbone};
}

}  // namespace lerobot::policy
