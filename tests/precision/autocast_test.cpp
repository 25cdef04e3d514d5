#include "lerobot/precision/autocast.hpp"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/torch.hpp"

namespace lerobot::precision {
namespace {

bool is_on() {
  return at::autocast::is_autocast_enabled(c10::kCPU);
}

TEST(AutocastScope, RunsMatrixProductsInTheGivenDtype) {
  const auto a = torch::ones({2, 2});
  EXPECT_EQ(at::mm(a, a).scalar_type(), c10::kFloat);
  {
    AutocastScope scope(c10::kCPU, c10::kBFloat16);
    EXPECT_EQ(at::mm(a, a).scalar_type(), c10::kBFloat16);
  }
  EXPECT_EQ(at::mm(a, a).scalar_type(), c10::kFloat);
}

TEST(AutocastScope, NestsAndRestoresWhatWasBefore) {
  const auto dtype_before = at::autocast::get_autocast_dtype(c10::kCPU);
  {
    AutocastScope outer(c10::kCPU, c10::kBFloat16);
    {
      AutocastScope inner(c10::kCPU, c10::kHalf);
      EXPECT_EQ(at::autocast::get_autocast_dtype(c10::kCPU), c10::kHalf);
    }
    EXPECT_TRUE(is_on());
    EXPECT_EQ(at::autocast::get_autocast_dtype(c10::kCPU), c10::kBFloat16);
  }
  EXPECT_FALSE(is_on());
  EXPECT_EQ(at::autocast::get_autocast_dtype(c10::kCPU), dtype_before);
}

TEST(AutocastScope, RestoresWhenAnExceptionLeaves) {
  try {
    AutocastScope scope(c10::kCPU, c10::kBFloat16);
    throw 1;
  } catch (int) {
  }
  EXPECT_FALSE(is_on());
  EXPECT_EQ(at::autocast::increment_nesting(), 1);
  EXPECT_EQ(at::autocast::decrement_nesting(), 0);
}

TEST(AutocastScope, ChangesNothingForFullPrecision) {
  AutocastScope scope(c10::kCPU, Precision::kNo);
  EXPECT_FALSE(is_on());
}

TEST(AutocastScope, ComputesInBfloat16ForBf16) {
  AutocastScope scope(c10::kCPU, Precision::kBf16);
  EXPECT_TRUE(is_on());
  EXPECT_EQ(at::autocast::get_autocast_dtype(c10::kCPU), c10::kBFloat16);
}

// The weights of at::linear are cached in their cast form; a stale cache makes training stand still without an error.
TEST(AutocastScope, SeesWeightsThatChangedSinceTheLastScope) {
  auto weight = torch::ones({1, 4}).requires_grad_();
  const auto x = torch::ones({1, 4});
  const auto forward = [&] {
    AutocastScope scope(c10::kCPU, c10::kBFloat16);
    return at::linear(x, weight).sum();
  };
  EXPECT_EQ(forward().item<double>(), 4.0);
  {
    torch::NoGradGuard no_grad;
    weight.mul_(2);
  }
  EXPECT_EQ(forward().item<double>(), 8.0);
}

TEST(AutocastScope, KeepsTheCacheWhileAnOuterScopeIsOpen) {
  auto weight = torch::ones({1, 4}).requires_grad_();
  const auto x = torch::ones({1, 4});
  AutocastScope outer(c10::kCPU, c10::kBFloat16);
  at::linear(x, weight);
  {
    torch::NoGradGuard no_grad;
    weight.mul_(2);
  }
  {
    AutocastScope inner(c10::kCPU, c10::kBFloat16);
    EXPECT_EQ(at::linear(x, weight).item<double>(), 4.0);
  }
  EXPECT_EQ(at::linear(x, weight).item<double>(), 4.0);
}

TEST(AutocastScope, IsASettingOfItsThreadAlone) {
  AutocastScope scope(c10::kCPU, c10::kBFloat16);
  bool on_in_other_thread = true;
  std::thread([&] { on_in_other_thread = is_on(); }).join();
  EXPECT_FALSE(on_in_other_thread);
}

}  // namespace
}  // namespace lerobot::precision
