#include "lerobot/policy/act/positions.hpp"

#include <gtest/gtest.h>
#include <torch/utils.h>

#include "policy/golden_case.hpp"

namespace lerobot::policy {
namespace {

TEST(Positions, OneDimensionalTableEqualsLeRobots) {
  const GoldenCase golden("act_env");
  const auto table = sinusoidal_positions_1d(10, 32).unsqueeze(0);
  expect_close(table, golden.weights().at("model.vae_encoder_pos_enc"), {0, 1e-7}, "table");
}

TEST(Positions, TwoDimensionalTableEqualsLeRobots) {
  const GoldenCase golden("act_image");
  const torch::Tensor table = sinusoidal_positions_2d(3, 3, 32, torch::kCPU);  // [9, 1, 32]
  expect_close(table.view({3, 3, 32}).permute({2, 0, 1}).unsqueeze(0), golden.outputs.at("dbg/cam_pos_embed"),
               {0, 1e-6}, "table");
}

TEST(Positions, TellsRowsInTheFirstHalfOfTheChannelsAndColumnsInTheSecond) {
  const auto table = sinusoidal_positions_2d(2, 5, 8, torch::kCPU).view({2, 5, 8});
  EXPECT_TRUE(torch::equal(table[1][0].slice(0, 0, 4), table[1][4].slice(0, 0, 4)));
  EXPECT_TRUE(torch::equal(table[0][3].slice(0, 4), table[1][3].slice(0, 4)));
  EXPECT_FALSE(torch::equal(table[0][0], table[1][0]));
}

}  // namespace
}  // namespace lerobot::policy
