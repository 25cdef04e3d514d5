// torchvision's ResNets as feature extractors with frozen batch norm: everything up to layer4, without pooling and
// classifier (He et al. 2015, https://arxiv.org/abs/1512.03385; torchvision/models/resnet.py).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lerobot::policy {

// Batch normalisation with constant statistics and affine parameters: buffers weight, bias, running_mean and
// running_var [C], never trained, the same in both modes.
class FrozenBatchNorm2d : public torch::nn::Module {
 public:
  explicit FrozenBatchNorm2d(int64_t channels);

  struct ScaleAndShift {
    torch::Tensor scale;  // [C], weight / sqrt(running_var + 1e-5)
    torch::Tensor shift;  // [C], bias - running_mean * scale
  };
  // The norm as x * scale + shift. Computed once and again after a buffer was written to or moved.
  const ScaleAndShift& scale_and_shift();

 private:
  // Where each buffer lies and how often it was written to.
  using Snapshot = std::array<std::pair<const void*, int64_t>, 4>;

  torch::Tensor weight_, bias_, running_mean_, running_var_;
  ScaleAndShift computed_;
  Snapshot computed_from_{};
};

// The shapes of one depth.
struct ResNetArchitecture {
  std::array<int64_t, 4> blocks;  // of layer1 to layer4
  bool bottleneck;                // three convolutions a block, four times as many channels out
};

// "resnet18", "resnet34", "resnet50", "resnet101", "resnet152"; nullopt for any other name.
std::optional<ResNetArchitecture> resnet_architecture(std::string_view name);
std::vector<std::string> resnet_names();

class ResNetBlock;

// A wrap unit: call it through run_unit(). Parameters and buffers carry torchvision's names (conv1.weight,
// layer1.0.bn1.running_mean, layer2.0.downsample.0.weight …). The weights are drawn as torchvision draws them, from
// the default generator: every convolution's default, a classifier that is thrown away, then Kaiming normal (fan out).
class ResNet : public torch::nn::Module {
 public:
  // dilate: layer4 keeps its resolution and dilates instead. Bottleneck depths only.
  ResNet(std::string_view name, bool dilate);

  // float images [B, 3, H, W] -> features [B, out_channels, H/32, W/32] (H/16, W/16 when dilated; rounded up).
  // A norm is folded into its convolution's weights, through which gradients flow, where those are fewer than the
  // activations. On the CPU, and wherever autocast is on, activations are channels-last.
  torch::Tensor forward(torch::Tensor x);

  int64_t out_channels() const { return out_channels_; }

 private:
  torch::nn::ModuleList make_layer(const ResNetArchitecture& architecture, int64_t index, bool dilate);
  void draw_convolutions();

  int64_t out_channels_ = 64;  // so far, while layers are made
  torch::nn::Conv2d conv1_{nullptr};
  std::shared_ptr<FrozenBatchNorm2d> bn1_;
  std::array<torch::nn::ModuleList, 4> layers_{nullptr, nullptr, nullptr, nullptr};
};

}  // namespace lerobot::policy
