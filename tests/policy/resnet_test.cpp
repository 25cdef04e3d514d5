#include "lerobot/policy/resnet.hpp"

#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "lerobot/precision/autocast.hpp"

namespace lerobot::policy {
namespace {

std::vector<int64_t> output_size(ResNet& backbone, int64_t height, int64_t width) {
  torch::NoGradGuard no_grad;
  return backbone.forward(torch::zeros({1, 3, height, width})).sizes().vec();
}

TEST(ResNet, HalvesTheResolutionFiveTimesRoundingUp) {
  ResNet backbone("resnet18", false);
  EXPECT_EQ(output_size(backbone, 96, 130), (std::vector<int64_t>{1, 512, 3, 5}));
}

TEST(ResNet, KeepsTheLastResolutionWhenDilated) {
  ResNet plain("resnet50", false);
  ResNet dilated("resnet50", true);
  EXPECT_EQ(output_size(plain, 96, 96), (std::vector<int64_t>{1, 2048, 3, 3}));
  EXPECT_EQ(output_size(dilated, 96, 96), (std::vector<int64_t>{1, 2048, 6, 6}));
  EXPECT_EQ(dilated.out_channels(), 2048);
}

TEST(ResNet, HasTorchvisionsNumberOfParameters) {
  const std::map<std::string, int64_t> golden{// torchvision's, without fc
                                              {"resnet18", 11176512},
                                              {"resnet34", 21284672},
                                              {"resnet50", 23508032}};
  for (const auto& [name, count] : golden) {
    const ResNet backbone(name, false);
    int64_t ours = 0;
    for (const auto& buffer : backbone.named_buffers())
      if (buffer.key().ends_with("weight") || buffer.key().ends_with("bias")) ours += buffer.value().numel();
    for (const auto& parameter : backbone.parameters()) ours += parameter.numel();
    EXPECT_EQ(ours, count) << name;
  }
}

TEST(ResNet, KnowsItsNamesAlone) {
  EXPECT_TRUE(resnet_architecture("resnet152"));
  EXPECT_FALSE(resnet_architecture("resnet"));
  EXPECT_FALSE(resnet_architecture("resnext50_32x4d"));
}

TEST(ResNet, FrozenNormIsTheNormInEvaluation) {
  torch::manual_seed(2);
  FrozenBatchNorm2d norm(5);
  const auto buffers = norm.named_buffers();
  const auto x = torch::randn({2, 5, 3, 3});
  for (int load = 0; load < 3; ++load) {  // what was computed for earlier values must not stay
    for (const auto& buffer : buffers) buffer.value().copy_(torch::rand({5}) + 0.5);
    const auto reference = torch::batch_norm(x, buffers["weight"], buffers["bias"], buffers["running_mean"],
                                             buffers["running_var"], false, 0.1, 1e-5, false);
    const auto& [scale, shift] = norm.scale_and_shift();
    const auto ours = x * scale.view({1, 5, 1, 1}) + shift.view({1, 5, 1, 1});
    EXPECT_TRUE(torch::allclose(ours, reference, 1e-5, 1e-6));
  }
}

// Small images leave the weights alone and large ones fold the norm into them: both are the same function.
TEST(ResNet, GivesTheSameFeaturesAndGradientsForABatchAndForItsParts) {
  torch::manual_seed(4);
  ResNet backbone("resnet18", false);
  for (const auto& buffer : backbone.named_buffers()) buffer.value().copy_(torch::rand_like(buffer.value()) + 0.5);
  const auto conv = backbone.named_parameters()["layer2.1.conv2.weight"];
  const auto images = torch::rand({48, 3, 64, 64});  // layer2's convolutions fold for 48 images, not for 4
  const auto whole = backbone.forward(images);
  whole.square().mean().backward();
  const auto gradient = conv.grad().clone();
  backbone.zero_grad();
  std::vector<torch::Tensor> parts;
  for (const auto& part : images.split(4)) parts.push_back(backbone.forward(part));
  const auto joined = torch::cat(parts);
  joined.square().mean().backward();
  EXPECT_LT((joined - whole).norm().item<double>(), 1e-5 * whole.norm().item<double>());
  EXPECT_LT((conv.grad() - gradient).norm().item<double>(), 1e-4 * gradient.norm().item<double>());
}

TEST(ResNet, TrainsAfterAForwardInInferenceMode) {
  ResNet backbone("resnet18", false);
  {
    const c10::InferenceMode inference;
    backbone.forward(torch::rand({1, 3, 64, 64}));
  }
  EXPECT_NO_THROW(backbone.forward(torch::rand({1, 3, 64, 64})).sum().backward());
}

TEST(ResNet, RunsInBfloat16UnderAutocastCloseToFloat32) {
  torch::manual_seed(3);
  ResNet backbone("resnet18", false);
  const auto images = torch::rand({2, 3, 64, 64});
  const auto exact = backbone.forward(images);
  torch::Tensor rounded;
  {
    const precision::AutocastScope autocast(c10::kCPU, torch::kBFloat16);
    rounded = backbone.forward(images);
  }
  const double error = (rounded.to(torch::kFloat32) - exact).norm().item<double>() / exact.norm().item<double>();
  EXPECT_LT(error, 0.02);
  rounded.sum().backward();
  EXPECT_EQ(backbone.named_parameters()["conv1.weight"].grad().scalar_type(), torch::kFloat32);
}

}  // namespace
}  // namespace lerobot::policy
