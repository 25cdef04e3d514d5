#include "lerobot/policy/resnet.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/max_pool2d.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

namespace lerobot::policy {
namespace {

constexpr std::array<std::pair<std::string_view, ResNetArchitecture>, 5> kArchitectures{{
    {"resnet18", {{2, 2, 2, 2}, false}},
    {"resnet34", {{3, 4, 6, 3}, false}},
    {"resnet50", {{3, 4, 6, 3}, true}},
    {"resnet101", {{3, 4, 23, 3}, true}},
    {"resnet152", {{3, 8, 36, 3}, true}},
}};
constexpr int64_t kStemChannels = 64;
constexpr int64_t kClasses = 1000;

// A square convolution without bias whose padding keeps the size at stride 1.
torch::nn::Conv2d make_conv(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation = 1) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel)
                               .stride(stride)
                               .padding(dilation * (kernel / 2))
                               .dilation(dilation)
                               .bias(false));
}

// norm(conv(x)). The norm scales either the convolution's weights or its output, whichever has fewer elements: with
// large images the weights, and its shift becomes the convolution's bias.
torch::Tensor convolve(const torch::nn::Conv2d& conv, FrozenBatchNorm2d& norm, const torch::Tensor& x) {
  const auto& [scale, shift] = norm.scale_and_shift();
  const torch::Tensor& weight = conv->weight;
  const int64_t kernel = weight.size(2);
  const int64_t stride = conv->options.stride()->front();
  const int64_t dilation = conv->options.dilation()->front();
  const int64_t padding = dilation * (kernel / 2);
  const int64_t pixels = x.size(0) * (x.size(2) / stride) * (x.size(3) / stride);
  if (weight.size(1) * kernel * kernel <= pixels) {
    return at::conv2d(x, weight * scale.view({-1, 1, 1, 1}), shift, stride, padding, dilation);
  }
  const torch::Tensor out = at::conv2d(x, weight, /*bias=*/{}, stride, padding, dilation);
  return at::addcmul(shift.view({1, -1, 1, 1}), out, scale.view({1, -1, 1, 1}));
}

bool prefers_channels_last(const torch::Tensor& x) {
  return x.device().is_cpu() || at::autocast::is_autocast_enabled(x.device().type());
}

}  // namespace

std::optional<ResNetArchitecture> resnet_architecture(std::string_view name) {
  for (const auto& [known, architecture] : kArchitectures)
    if (known == name) return architecture;
  return std::nullopt;
}

std::vector<std::string> resnet_names() {
  std::vector<std::string> names;
  for (const auto& [name, _] : kArchitectures) names.emplace_back(name);
  return names;
}

FrozenBatchNorm2d::FrozenBatchNorm2d(int64_t channels)
    : weight_(register_buffer("weight", torch::ones(channels))),
      bias_(register_buffer("bias", torch::zeros(channels))),
      running_mean_(register_buffer("running_mean", torch::zeros(channels))),
      running_var_(register_buffer("running_var", torch::ones(channels))) {}

const FrozenBatchNorm2d::ScaleAndShift& FrozenBatchNorm2d::scale_and_shift() {
  const std::array<torch::Tensor, 4> buffers{weight_, bias_, running_mean_, running_var_};
  Snapshot current;
  for (size_t i = 0; i < buffers.size(); ++i) current[i] = {buffers[i].const_data_ptr(), buffers[i]._version()};
  if (current != computed_from_) {
    const c10::InferenceMode not_for_inference_alone(false);
    const torch::NoGradGuard no_grad;
    computed_.scale = weight_ * (running_var_ + 1e-5).rsqrt();
    computed_.shift = bias_ - running_mean_ * computed_.scale;
    computed_from_ = current;
  }
  return computed_;
}

// BasicBlock (3x3, 3x3) or Bottleneck (1x1, 3x3, 1x1) with its shortcut.
class ResNetBlock : public torch::nn::Module {
 public:
  struct Options {
    int64_t in;
    int64_t width;
    int64_t out;
    int64_t stride;
    int64_t dilation;
    bool bottleneck;
    bool downsample;  // the shortcut is a strided 1x1 convolution
  };

  explicit ResNetBlock(const Options& options) {
    // Drawn before the block's own convolutions, registered after them, as in torchvision.
    torch::nn::Conv2d shortcut{nullptr};
    if (options.downsample) shortcut = make_conv(options.in, options.out, 1, options.stride);
    if (options.bottleneck) {
      add(make_conv(options.in, options.width, 1, 1), options.width);
      add(make_conv(options.width, options.width, 3, options.stride, options.dilation), options.width);
      add(make_conv(options.width, options.out, 1, 1), options.out);
    } else {
      add(make_conv(options.in, options.width, 3, options.stride), options.width);
      add(make_conv(options.width, options.out, 3, 1), options.out);
    }
    if (options.downsample) {
      downsample_norm_ = std::make_shared<FrozenBatchNorm2d>(options.out);
      auto downsample = register_module("downsample", torch::nn::ModuleList());
      downsample->push_back(shortcut);
      downsample->push_back(downsample_norm_);
      downsample_conv_ = shortcut;
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor shortcut = downsample_conv_ ? convolve(downsample_conv_, *downsample_norm_, x) : x;
    torch::Tensor out = x;
    for (size_t i = 0; i < convs_.size(); ++i) {
      out = convolve(convs_[i], *norms_[i], out);
      if (i + 1 < convs_.size()) out = out.relu_();
    }
    return (out += shortcut).relu_();
  }

 private:
  void add(const torch::nn::Conv2d& conv, int64_t channels) {
    const size_t number = convs_.size() + 1;
    convs_.push_back(register_module(fmt::format("conv{}", number), conv));
    norms_.push_back(register_module(fmt::format("bn{}", number), std::make_shared<FrozenBatchNorm2d>(channels)));
  }

  std::vector<torch::nn::Conv2d> convs_;
  std::vector<std::shared_ptr<FrozenBatchNorm2d>> norms_;
  torch::nn::Conv2d downsample_conv_{nullptr};
  std::shared_ptr<FrozenBatchNorm2d> downsample_norm_;
};

ResNet::ResNet(std::string_view name, bool dilate) {
  const auto architecture = resnet_architecture(name);
  TORCH_CHECK(architecture, "no such backbone: ", std::string(name));
  TORCH_CHECK(architecture->bottleneck || !dilate, std::string(name), " cannot be dilated");
  conv1_ = register_module("conv1", make_conv(3, kStemChannels, /*kernel=*/7, /*stride=*/2));
  bn1_ = register_module("bn1", std::make_shared<FrozenBatchNorm2d>(kStemChannels));
  for (int64_t i = 0; i < 4; ++i) {
    const bool dilate_this = dilate && i == 3;
    layers_[i] = register_module(fmt::format("layer{}", i + 1), make_layer(*architecture, i, dilate_this));
  }
  draw_convolutions();
}

torch::nn::ModuleList ResNet::make_layer(const ResNetArchitecture& architecture, int64_t index, bool dilate) {
  const int64_t width = kStemChannels << index;
  const int64_t out = width * (architecture.bottleneck ? 4 : 1);
  const int64_t stride = index == 0 || dilate ? 1 : 2;
  torch::nn::ModuleList layer;
  for (int64_t i = 0; i < architecture.blocks[index]; ++i) {
    const bool is_first = i == 0;
    layer->push_back(std::make_shared<ResNetBlock>(ResNetBlock::Options{
        .in = out_channels_,
        .width = width,
        .out = out,
        .stride = is_first ? stride : 1,
        .dilation = dilate && !is_first ? 2 : 1,
        .bottleneck = architecture.bottleneck,
        .downsample = is_first && (stride != 1 || out_channels_ != out),
    }));
    out_channels_ = out;
  }
  return layer;
}

void ResNet::draw_convolutions() {
  const torch::nn::Linear classifier(out_channels_, kClasses);  // uses up the draws of torchvision's `fc`
  for (const auto& parameter : parameters()) {
    torch::nn::init::kaiming_normal_(parameter, /*a=*/0, torch::kFanOut, torch::kReLU);
  }
}

torch::Tensor ResNet::forward(torch::Tensor x) {
  if (prefers_channels_last(x)) x = x.contiguous(at::MemoryFormat::ChannelsLast);
  x = convolve(conv1_, *bn1_, x).relu_();
  x = at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
  for (const auto& layer : layers_)
    for (const auto& block : *layer) x = block->as<ResNetBlock>()->forward(x);
  return x;
}

}  // namespace lerobot::policy
