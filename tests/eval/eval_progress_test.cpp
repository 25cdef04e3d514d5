#include "eval_progress.hpp"

#include <gtest/gtest.h>

namespace lerobot::eval {
namespace {

TEST(EvalProgress, CutsALineBetweenCharacters) {
  EXPECT_EQ(first_columns("ab██c", 3), "ab█");
  EXPECT_EQ(first_columns("ab██c", 5), "ab██c");
  EXPECT_EQ(first_columns("ab", 80), "ab");
}

}  // namespace
}  // namespace lerobot::eval
