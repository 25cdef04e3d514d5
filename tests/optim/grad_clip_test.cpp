#include "lerobot/optim/grad_clip.hpp"

#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>

#include <limits>

#include "support/torch.hpp"

namespace lerobot::optim {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

torch::Tensor with_grad(std::vector<float> values) {
  auto param = torch::zeros({static_cast<int64_t>(values.size())}).requires_grad_();
  param.mutable_grad() = torch::tensor(values);
  return param;
}

TEST(ClipGradNorm, ScalesAllGradientsToTheGlobalNorm) {
  const std::vector<torch::Tensor> params = {with_grad({3.0f, 0.0f}), with_grad({0.0f, 4.0f}),
                                             torch::zeros({2}).requires_grad_()};
  const ClipResult result = clip_grad_norm(params, 1.0);
  EXPECT_FLOAT_EQ(result.norm.item<float>(), 5.0f);
  EXPECT_NEAR(params[0].grad()[0].item<float>(), 0.6f, 1e-6);
  EXPECT_NEAR(params[1].grad()[1].item<float>(), 0.8f, 1e-6);
  EXPECT_FALSE(params[2].grad().defined());
}

TEST(ClipGradNorm, LeavesSmallGradientsAlone) {
  const std::vector<torch::Tensor> params = {with_grad({3.0f, 4.0f})};
  EXPECT_EQ(clip_grad_norm(params, 10.0).norm.item<float>(), 5.0f);
  EXPECT_TRUE(torch::equal(params[0].grad(), torch::tensor({3.0f, 4.0f})));
}

// max_norm / (norm + 1e-6): with a norm of 5e-6 the constant is felt.
TEST(ClipGradNorm, AddsTorchsConstantToTheNorm) {
  const std::vector<torch::Tensor> params = {with_grad({3e-6f, 4e-6f})};
  clip_grad_norm(params, 1e-6);
  EXPECT_NEAR(params[0].grad()[0].item<float>(), 0.5e-6, 1e-11);
}

TEST(ClipGradNorm, EqualsTorchsOwn) {
  torch::manual_seed(3);
  std::vector<torch::Tensor> ours, theirs;
  for (int i = 0; i < 5; ++i) {
    ours.push_back(torch::zeros({7, 11}).requires_grad_());
    ours.back().mutable_grad() = torch::randn({7, 11});
    theirs.push_back(torch::zeros({7, 11}).requires_grad_());
    theirs.back().mutable_grad() = ours.back().grad().clone();
  }
  const double norm = torch::nn::utils::clip_grad_norm_(theirs, 2.0);
  EXPECT_EQ(clip_grad_norm(ours, 2.0).norm.item<float>(), static_cast<float>(norm));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(torch::allclose(ours[i].grad(), theirs[i].grad(), 1e-6, 0.0));
}

TEST(TotalGradNorm, IsZeroWithoutGradients) {
  EXPECT_EQ(total_grad_norm({torch::zeros({2}).requires_grad_()}).item<float>(), 0.0f);
  EXPECT_EQ(clip_grad_norm({}, 1.0).norm.item<float>(), 0.0f);
}

TEST(FoundInf, IsExactlyOneForANonFiniteNormAndZeroElse) {
  for (const float bad : {kInf, -kInf, kNan}) {
    const auto norm = clip_grad_norm({with_grad({1.0f, bad})}, 1.0).norm;
    const auto found_inf = found_inf_from_norm(norm);
    EXPECT_EQ(found_inf.item<float>(), 1.0f);
    EXPECT_EQ(found_inf.scalar_type(), torch::kFloat);
    EXPECT_EQ(found_inf.dim(), 0);
  }
  EXPECT_EQ(found_inf_from_norm(torch::tensor(1e38f)).item<float>(), 0.0f);
}

TEST(FoundInf, LooksAtEveryElementWhenNothingIsClipped) {
  const auto huge = with_grad({3e38f, 3e38f});  // finite elements, infinite norm
  EXPECT_EQ(found_inf_from_gradients({huge}).item<float>(), 0.0f);
  EXPECT_TRUE(torch::equal(huge.grad(), torch::tensor({3e38f, 3e38f})));
  EXPECT_EQ(found_inf_from_gradients({huge, with_grad({0.0f, kNan})}).item<float>(), 1.0f);
  EXPECT_EQ(found_inf_from_gradients({torch::zeros({2}).requires_grad_()}).item<float>(), 0.0f);
}

}  // namespace
}  // namespace lerobot::optim
