// The transformer of ACT: encoder and decoder layers in the style of DETR, where positions are added to queries and
// keys inside every layer and values carry none. All tensors are sequence-first, [n, B, D], as LeRobot has them: with
// it a seeded run draws the same dropout masks.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <memory>
#include <optional>

#include "lerobot/policy/act/act_config.hpp"
#include "lerobot/policy/attention.hpp"

namespace lerobot::policy {

// linear1, activation, dropout, linear2: what both kinds of layer end with. Its parameters belong to the layer, so it
// is no module of its own.
class FeedForward {
 public:
  explicit FeedForward(const ACTConfig& config);
  void register_in(torch::nn::Module& layer);
  torch::Tensor forward(const torch::Tensor& x, bool is_training) const;

 private:
  torch::nn::Linear linear1_;
  torch::nn::Linear linear2_;
  bool is_gelu_;  // else relu
  double dropout_;
};

// A wrap unit: call it through run_unit().
class ACTEncoderLayer : public torch::nn::Module {
 public:
  explicit ACTEncoderLayer(const ACTConfig& config);
  // x [n, B, D], position [n, 1, D], attend bool [B, n] (true: takes part) -> [n, B, D].
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& position, const std::optional<torch::Tensor>& attend);

 private:
  bool pre_norm_;
  double dropout_;
  std::shared_ptr<MultiheadAttention> self_attn_;
  FeedForward feed_forward_;
  torch::nn::LayerNorm norm1_{nullptr}, norm2_{nullptr};
};

class ACTEncoder : public torch::nn::Module {
 public:
  ACTEncoder(const ACTConfig& config, int64_t n_layers);
  // As ACTEncoderLayer, through all layers; with pre_norm a last norm follows.
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& position,
                        const std::optional<torch::Tensor>& attend = std::nullopt);

 private:
  torch::nn::ModuleList layers_;
  torch::nn::LayerNorm norm_{nullptr};  // null without pre_norm
};

// A wrap unit: call it through run_unit().
class ACTDecoderLayer : public torch::nn::Module {
 public:
  explicit ACTDecoderLayer(const ACTConfig& config);
  // x [S, B, D] or [S, 1, D] (the same for every sample), memory [n, B, D], positions [S, 1, D] and [n, 1, D]
  // -> [S, B, D].
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& memory, const torch::Tensor& position,
                        const torch::Tensor& memory_position);

 private:
  bool pre_norm_;
  double dropout_;
  std::shared_ptr<MultiheadAttention> self_attn_;
  std::shared_ptr<MultiheadAttention> multihead_attn_;
  FeedForward feed_forward_;
  torch::nn::LayerNorm norm1_{nullptr}, norm2_{nullptr}, norm3_{nullptr};
};

class ACTDecoder : public torch::nn::Module {
 public:
  explicit ACTDecoder(const ACTConfig& config);
  // As ACTDecoderLayer, through all layers, then a norm in both modes. x starts as zeros.
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& memory, const torch::Tensor& position,
                        const torch::Tensor& memory_position);

 private:
  torch::nn::ModuleList layers_;
  torch::nn::LayerNorm norm_{nullptr};
};

}  // namespace lerobot::policy
