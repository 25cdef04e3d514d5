#include "lerobot/policy/act/act_transformer.hpp"

#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include "lerobot/policy/run_unit.hpp"

namespace lerobot::policy {
namespace {

torch::Tensor normalize(const torch::nn::LayerNorm& norm, const torch::Tensor& x) {
  return at::layer_norm(x, {x.size(-1)}, norm->weight, norm->bias, /*eps=*/1e-5);
}

torch::nn::LayerNorm make_norm(const ACTConfig& config) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.dim_model}));
}

std::shared_ptr<MultiheadAttention> make_attention(const ACTConfig& config) {
  return std::make_shared<MultiheadAttention>(config.dim_model, config.n_heads, config.dropout);
}

}  // namespace

FeedForward::FeedForward(const ACTConfig& config)
    : linear1_(config.dim_model, config.dim_feedforward),
      linear2_(config.dim_feedforward, config.dim_model),
      is_gelu_(config.feedforward_activation == "gelu"),
      dropout_(config.dropout) {}

void FeedForward::register_in(torch::nn::Module& layer) {
  layer.register_module("linear1", linear1_);
  layer.register_module("linear2", linear2_);
}

torch::Tensor FeedForward::forward(const torch::Tensor& x, bool is_training) const {
  // On a matrix of tokens: a product of three dimensions would be a view, on which an operation in place costs copies.
  torch::Tensor hidden = at::linear(x.flatten(0, 1), linear1_->weight, linear1_->bias);
  hidden = is_gelu_ ? at::gelu(hidden) : hidden.relu_();
  hidden = at::dropout(hidden, dropout_, is_training);
  return at::linear(hidden, linear2_->weight, linear2_->bias).view_as(x);
}

// Members are drawn in LeRobot's order: attention, linear1, linear2.
ACTEncoderLayer::ACTEncoderLayer(const ACTConfig& config)
    : pre_norm_(config.pre_norm),
      dropout_(config.dropout),
      self_attn_(register_module("self_attn", make_attention(config))),
      feed_forward_(config) {
  feed_forward_.register_in(*this);
  norm1_ = register_module("norm1", make_norm(config));
  norm2_ = register_module("norm2", make_norm(config));
}

torch::Tensor ACTEncoderLayer::forward(torch::Tensor x, const torch::Tensor& position,
                                       const std::optional<torch::Tensor>& attend) {
  const auto drop = [this](const torch::Tensor& t) { return at::dropout(t, dropout_, is_training()); };
  const torch::Tensor value = pre_norm_ ? normalize(norm1_, x) : x;
  const torch::Tensor query = value + position;
  x = x + drop(self_attn_->forward(query, query, value, attend));
  if (pre_norm_) return x + drop(feed_forward_.forward(normalize(norm2_, x), is_training()));
  x = normalize(norm1_, x);
  return normalize(norm2_, x + drop(feed_forward_.forward(x, is_training())));
}

ACTEncoder::ACTEncoder(const ACTConfig& config, int64_t n_layers) {
  register_module("layers", layers_);
  for (int64_t i = 0; i < n_layers; ++i) layers_->push_back(std::make_shared<ACTEncoderLayer>(config));
  if (config.pre_norm) norm_ = register_module("norm", make_norm(config));
}

torch::Tensor ACTEncoder::forward(torch::Tensor x, const torch::Tensor& position,
                                  const std::optional<torch::Tensor>& attend) {
  for (const auto& layer : *layers_) {
    x = run_unit(*layer, [&] { return layer->as<ACTEncoderLayer>()->forward(x, position, attend); });
  }
  return norm_ ? normalize(norm_, x) : x;
}

ACTDecoderLayer::ACTDecoderLayer(const ACTConfig& config)
    : pre_norm_(config.pre_norm),
      dropout_(config.dropout),
      self_attn_(register_module("self_attn", make_attention(config))),
      multihead_attn_(register_module("multihead_attn", make_attention(config))),
      feed_forward_(config) {
  feed_forward_.register_in(*this);
  norm1_ = register_module("norm1", make_norm(config));
  norm2_ = register_module("norm2", make_norm(config));
  norm3_ = register_module("norm3", make_norm(config));
}

torch::Tensor ACTDecoderLayer::forward(torch::Tensor x, const torch::Tensor& memory, const torch::Tensor& position,
                                       const torch::Tensor& memory_position) {
  const auto drop = [this](const torch::Tensor& t) { return at::dropout(t, dropout_, is_training()); };
  const torch::Tensor value = pre_norm_ ? normalize(norm1_, x) : x;
  const torch::Tensor query = value + position;
  x = x + drop(self_attn_->forward(query, query, value));

  if (!pre_norm_) x = normalize(norm1_, x);
  const torch::Tensor cross_query = (pre_norm_ ? normalize(norm2_, x) : x) + position;
  x = x + drop(multihead_attn_->forward(cross_query, memory + memory_position, memory));

  if (pre_norm_) return x + drop(feed_forward_.forward(normalize(norm3_, x), is_training()));
  x = normalize(norm2_, x);
  return normalize(norm3_, x + drop(feed_forward_.forward(x, is_training())));
}

ACTDecoder::ACTDecoder(const ACTConfig& config) {
  register_module("layers", layers_);
  for (int64_t i = 0; i < config.n_decoder_layers; ++i) layers_->push_back(std::make_shared<ACTDecoderLayer>(config));
  norm_ = register_module("norm", make_norm(config));
}

torch::Tensor ACTDecoder::forward(torch::Tensor x, const torch::Tensor& memory, const torch::Tensor& position,
                                  const torch::Tensor& memory_position) {
  for (const auto& layer : *layers_) {
    x = run_unit(*layer, [&] { return layer->as<ACTDecoderLayer>()->forward(x, memory, position, memory_position); });
  }
  return normalize(norm_, x);
}

}  // namespace lerobot::policy
