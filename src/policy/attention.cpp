#include "lerobot/policy/attention.hpp"

#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/init.h>
#include <torch/utils.h>

namespace lerobot::policy {

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads, double dropout)
    : embed_dim_(embed_dim), num_heads_(num_heads), dropout_(dropout) {
  TORCH_CHECK(embed_dim % num_heads == 0, "embed_dim ", embed_dim, " is not divisible by num_heads ", num_heads);
  in_proj_weight_ = register_parameter("in_proj_weight", torch::empty({3 * embed_dim, embed_dim}));
  in_proj_bias_ = register_parameter("in_proj_bias", torch::zeros({3 * embed_dim}));
  out_proj_ = register_module("out_proj", torch::nn::Linear(embed_dim, embed_dim));
  torch::nn::init::xavier_uniform_(in_proj_weight_);
  torch::nn::init::zeros_(out_proj_->bias);
}

torch::Tensor MultiheadAttention::split_heads(const torch::Tensor& projected) const {
  return projected.view({projected.size(0), projected.size(1), num_heads_, embed_dim_ / num_heads_})
      .permute({1, 2, 0, 3});
}

torch::Tensor MultiheadAttention::forward(const torch::Tensor& query, const torch::Tensor& key,
                                          const torch::Tensor& value, const std::optional<torch::Tensor>& attend) {
  torch::Tensor q, k, v;
  if (query.is_same(key)) {
    const auto weights = in_proj_weight_.split_with_sizes({2 * embed_dim_, embed_dim_});
    const auto biases = in_proj_bias_.split_with_sizes({2 * embed_dim_, embed_dim_});
    const auto q_and_k = at::linear(query, weights[0], biases[0]).chunk(2, /*dim=*/-1);
    q = q_and_k[0];
    k = q_and_k[1];
    v = at::linear(value, weights[1], biases[1]);
  } else {
    const auto weights = in_proj_weight_.chunk(3);
    const auto biases = in_proj_bias_.chunk(3);
    q = at::linear(query, weights[0], biases[0]);
    k = at::linear(key, weights[1], biases[1]);
    v = at::linear(value, weights[2], biases[2]);
  }

  const int64_t batch = value.size(1);
  if (q.size(1) != batch) q = q.expand({q.size(0), batch, embed_dim_});
  std::optional<torch::Tensor> mask;
  if (attend) mask = attend->view({batch, 1, 1, value.size(0)});
  const auto attended = at::scaled_dot_product_attention(split_heads(q), split_heads(k), split_heads(v), mask,
                                                         is_training() ? dropout_ : 0.0);
  const auto heads_joined = attended.permute({2, 0, 1, 3}).reshape({q.size(0), batch, embed_dim_});
  return at::linear(heads_joined, out_proj_->weight, out_proj_->bias);
}

}  // namespace lerobot::policy
