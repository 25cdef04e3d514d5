#include "lerobot/precision/tf32.hpp"

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace lerobot::precision {
namespace {

// Both readers throw when LibTorch's two records of the setting disagree.
bool products() {
  return at::globalContext().allowTF32CuBLAS();
}
bool convolutions() {
  return at::globalContext().allowTF32CuDNN();
}

TEST(SetTf32, SetsProductsAndConvolutionsAlikeOrLeavesThem) {
  set_tf32(true);
  EXPECT_TRUE(products());
  EXPECT_TRUE(convolutions());
  set_tf32(std::nullopt);
  EXPECT_TRUE(products());
  EXPECT_TRUE(convolutions());
  set_tf32(false);
  EXPECT_FALSE(products());
  EXPECT_FALSE(convolutions());
  set_tf32(std::nullopt);
  EXPECT_FALSE(products());
  EXPECT_FALSE(convolutions());
}

}  // namespace
}  // namespace lerobot::precision
