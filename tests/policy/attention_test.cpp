#include "lerobot/policy/attention.hpp"

#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/utils.h>

#include <tuple>

namespace lerobot::policy {
namespace {

constexpr int64_t kDim = 24;
constexpr int64_t kHeads = 3;

// Ours and LibTorch's module with the same weights.
struct Pair {
  explicit Pair(double dropout = 0.0)
      : ours(kDim, kHeads, dropout), theirs(torch::nn::MultiheadAttentionOptions(kDim, kHeads).dropout(dropout)) {
    torch::NoGradGuard no_grad;
    for (const auto& parameter : ours.named_parameters()) {
      parameter.value().copy_(torch::randn_like(parameter.value()) / 4);
      theirs->named_parameters()[parameter.key()].copy_(parameter.value());
    }
  }
  MultiheadAttention ours;
  torch::nn::MultiheadAttention theirs;
};

class Attention : public testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(5); }
};

TEST_F(Attention, HasThePythonModulesParametersInOrder) {
  const MultiheadAttention attention(kDim, kHeads, 0.0);
  std::vector<std::string> names;
  for (const auto& parameter : attention.named_parameters()) names.push_back(parameter.key());
  EXPECT_EQ(names, (std::vector<std::string>{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}));
}

TEST_F(Attention, EqualsTheReferenceForThreeDifferentInputs) {
  Pair pair;
  const auto query = torch::randn({4, 2, kDim}), key = torch::randn({7, 2, kDim}), value = torch::randn({7, 2, kDim});
  const auto reference = std::get<0>(pair.theirs(query, key, value));
  EXPECT_TRUE(torch::allclose(pair.ours.forward(query, key, value), reference, 1e-5, 1e-6));
}

TEST_F(Attention, EqualsTheReferenceWhereQueryAndKeyAreOneTensor) {
  Pair pair;
  const auto query = torch::randn({6, 3, kDim}), value = torch::randn({6, 3, kDim});
  const auto reference = std::get<0>(pair.theirs(query, query, value));
  EXPECT_TRUE(torch::allclose(pair.ours.forward(query, query, value), reference, 1e-5, 1e-6));
}

TEST_F(Attention, LeavesOutMaskedKeysInValueAndGradient) {
  Pair pair;
  const auto x = torch::randn({5, 2, kDim});
  const auto is_pad = torch::zeros({2, 5}, torch::kBool);
  is_pad[1].slice(0, 3).fill_(true);
  const auto reference = std::get<0>(pair.theirs(x, x, x, is_pad));
  auto value = x.clone().set_requires_grad(true);
  const auto ours = pair.ours.forward(x, x, value, is_pad.logical_not());
  EXPECT_TRUE(torch::allclose(ours, reference, 1e-5, 1e-6));
  ours.sum().backward();
  EXPECT_EQ(value.grad().slice(0, 3).select(1, 1).abs().max().item<float>(), 0.0F);
}

TEST_F(Attention, SharesAQueryWithOneBatchEntryAmongAllSamples) {
  Pair pair;
  const auto query = torch::randn({4, 1, kDim}).set_requires_grad(true);
  const auto repeated = query.detach().repeat({1, 3, 1}).set_requires_grad(true);
  const auto key = torch::randn({7, 3, kDim}), value = torch::randn({7, 3, kDim});
  const auto shared = pair.ours.forward(query, key, value);
  const auto reference = pair.ours.forward(repeated, key, value);
  EXPECT_TRUE(torch::allclose(shared, reference, 1e-5, 1e-6));
  shared.square().sum().backward();
  reference.square().sum().backward();
  EXPECT_TRUE(torch::allclose(query.grad(), repeated.grad().sum(1, true), 1e-4, 1e-5));
}

TEST_F(Attention, DropsProbabilitiesInTrainingModeOnly) {
  Pair pair(0.5);
  const auto x = torch::randn({5, 2, kDim});
  pair.ours.eval();
  EXPECT_TRUE(torch::equal(pair.ours.forward(x, x, x), pair.ours.forward(x, x, x)));
  pair.ours.train();
  EXPECT_FALSE(torch::equal(pair.ours.forward(x, x, x), pair.ours.forward(x, x, x)));
}

}  // namespace
}  // namespace lerobot::policy
