// The seam around a policy's wrap units (ACTEncoderLayer, ACTDecoderLayer, the backbone): C++ modules have no forward
// hooks, and sharding, activation checkpointing and timing need a place to stand.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <utility>

namespace lerobot::policy {

// Called around every wrap unit when set; must call `forward` exactly once and may act before and after it. What it
// returns is what the policy goes on with. An exception passes through.
using UnitHook = std::function<torch::Tensor(torch::nn::Module& unit, const std::function<torch::Tensor()>& forward)>;

// Sets the hook of the calling thread for its lifetime. Nests: the inner hook replaces the outer one until it ends.
class UnitHookScope {
 public:
  explicit UnitHookScope(UnitHook hook);
  ~UnitHookScope();
  UnitHookScope(const UnitHookScope&) = delete;
  UnitHookScope& operator=(const UnitHookScope&) = delete;

 private:
  UnitHook previous_;
};

// Runs one wrap unit: forward() itself, or the hook of the calling thread around it.
torch::Tensor run_unit(torch::nn::Module& unit, const std::function<torch::Tensor()>& forward);

}  // namespace lerobot::policy
