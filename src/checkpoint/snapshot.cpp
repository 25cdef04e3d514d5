#include <torch/types.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "lerobot/checkpoint/checkpoint.hpp"

namespace lerobot::checkpoint {
namespace {

class Copier {
 public:
  void copy(torch::Tensor& tensor) {
    if (!tensor.defined()) return;
    if (tensor.numel() == 0) {
      tensor = copy_of(tensor);
      return;
    }
    const Key key{tensor.device().str(), tensor.const_data_ptr(), tensor.scalar_type(), tensor.sizes().vec(),
                  tensor.strides().vec()};
    const auto [found, is_new] = copies_.try_emplace(key);
    if (is_new) {
      originals_.push_back(tensor);
      found->second = copy_of(tensor);
    }
    tensor = found->second;
  }

  void copy(TensorMap& tensors) {
    for (auto& [name, tensor] : tensors) copy(tensor);
  }

 private:
  using Key = std::tuple<std::string, const void*, torch::ScalarType, std::vector<int64_t>, std::vector<int64_t>>;

  static torch::Tensor copy_of(const torch::Tensor& tensor) {
    return tensor.detach().to(torch::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true,
                              torch::MemoryFormat::Contiguous);
  }

  std::map<Key, torch::Tensor> copies_;
  std::vector<torch::Tensor> originals_;  // kept, so that no address is used twice
};

}  // namespace

CheckpointContent snapshot(CheckpointContent content) {
  Copier copier;
  copier.copy(content.weights);
  if (content.ema) copier.copy(content.ema->weights);
  TrainingState& state = content.training_state;
  copier.copy(state.rng);
  copier.copy(state.optimizer);
  copier.copy(state.accumulated_gradients);
  if (state.ema) {
    for (torch::Tensor& tensor : state.ema->shadow_params) copier.copy(tensor);
  }
  return content;
}

}  // namespace lerobot::checkpoint
