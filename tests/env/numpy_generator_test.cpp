#include "numpy_generator.hpp"

#include <gtest/gtest.h>

namespace lerobot::env {
namespace {

// g = numpy.random.default_rng(2**40 + 9), numpy 2.2.
TEST(NumpyGenerator, DrawsTheNumbersThatNumpyDraws) {
  NumpyGenerator generator((uint64_t{1} << 40) + 9);
  EXPECT_EQ(generator.integers(50, 450), 227);
  EXPECT_EQ(generator.integers(50, 450), 121);
  EXPECT_EQ(generator.integers(50, 450), 282);
  // Three integers used up one and a half 64-bit numbers: the half waits while a float takes a whole one.
  EXPECT_EQ(generator.uniform(-1, 3), 0.3238701802118724);
  EXPECT_EQ(generator.integers(0, 4294967295), 2596797904);
  EXPECT_EQ(generator.integers(0, 2), 1);
  EXPECT_EQ(generator.integers(-5, 3 * (int64_t{1} << 30)), 122280384);  // a range that rejects a quarter of the words
  EXPECT_EQ(generator.uniform(0, 1), 0.3688159927879435);
}

}  // namespace
}  // namespace lerobot::env
