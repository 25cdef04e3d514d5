// Multi-head attention with the parameters of torch.nn.MultiheadAttention, computed by scaled_dot_product_attention.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <optional>

namespace lerobot::policy {

// Parameters, in this order: in_proj_weight [3D, D], in_proj_bias [3D], out_proj.weight [D, D], out_proj.bias [D],
// initialised with the same draws from the default generator as Python's module: out_proj as a Linear, then
// in_proj_weight Xavier uniform; both biases zero.
class MultiheadAttention : public torch::nn::Module {
 public:
  // dropout: on the attention probabilities, in training mode. embed_dim must be divisible by num_heads.
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, double dropout);

  // query [L, B, D] or [L, 1, D], key and value [S, B, D] -> [L, B, D]. A query with one batch entry is shared by
  // all B. Where query and key are the same tensor they are projected by one product.
  // attend: bool [B, S], true where a key takes part.
  torch::Tensor forward(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                        const std::optional<torch::Tensor>& attend = std::nullopt);

 private:
  // [n, B, D] -> [B, heads, n, D / heads], a view.
  torch::Tensor split_heads(const torch::Tensor& projected) const;

  int64_t embed_dim_;
  int64_t num_heads_;
  double dropout_;
  torch::Tensor in_proj_weight_;
  torch::Tensor in_proj_bias_;
  torch::nn::Linear out_proj_{nullptr};
};

}  // namespace lerobot::policy
