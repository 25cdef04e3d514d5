#include "lerobot/eval/observation_batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "lerobot/core/error.hpp"
#include "support/torch.hpp"

namespace lerobot::eval {
namespace {

using env::Array;
using env::Observation;
using testing::HasSubstr;

constexpr int64_t kSide = 5;

// Channel c of the pixel in row y and column x holds first + 3 (5 y + x) + c.
Array picture(uint8_t first) {
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < 3 * kSide * kSide; ++i) bytes.push_back(static_cast<uint8_t>(first + i));
  return Array::of(bytes, {kSide, kSide, 3});
}

Array numbers(std::vector<double> values) {
  return Array::of(values);
}

TEST(ObservationBatch, TurnsPicturesIntoFloatPlanes) {
  const std::array observations{Observation{{"pixels", picture(10)}}, Observation{{"pixels", picture(100)}}};
  const torch::Tensor image = observation_batch(observations, {"", ""}).at("observation.image");
  EXPECT_EQ(image.scalar_type(), torch::kFloat32);
  EXPECT_EQ(image.sizes(), (std::vector<int64_t>{2, 3, kSide, kSide}));
  EXPECT_TRUE(image.is_contiguous());
  EXPECT_EQ(image[0][2][1][3].item<float>(), static_cast<float>(10 + 3 * (kSide + 3) + 2) / 255.0F);
  EXPECT_EQ(image[1][0][0][0].item<float>(), 100.0F / 255.0F);
}

TEST(ObservationBatch, NamesEachCamera) {
  const std::array observations{Observation{{"pixels/top", picture(0)}, {"pixels/wrist", picture(1)}}};
  const Batch batch = observation_batch(observations, {""});
  EXPECT_TRUE(batch.contains("observation.images.top"));
  EXPECT_EQ(batch.at("observation.images.wrist")[0][0][0][0].item<float>(), 1.0F / 255.0F);
}

TEST(ObservationBatch, RoundsPositionsToFloat32) {
  const double tenth = 0.1;
  const std::array observations{Observation{{"agent_pos", numbers({tenth, 2})}, {"environment_state", numbers({3})}}};
  const Batch batch = observation_batch(observations, {"push"});
  EXPECT_EQ(batch.at("observation.state").scalar_type(), torch::kFloat32);
  EXPECT_EQ(batch.at("observation.state")[0][0].item<float>(), 0.1F);
  EXPECT_EQ(batch.at("observation.environment_state").sizes(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(batch.task, std::vector<std::string>{"push"});
}

TEST(ObservationBatch, PutsDotsIntoNestedNames) {
  const std::array observations{
      Observation{{"robot_state/eef/pos", numbers({1})}, {"gripper", numbers({4})}, {"goal/pose", numbers({2})}}};
  const Batch batch = observation_batch(observations, {""});
  EXPECT_EQ(batch.at("observation.robot_state.eef.pos").scalar_type(), torch::kFloat64);  // as it came
  EXPECT_EQ(batch.at("observation.gripper").scalar_type(), torch::kFloat32);
  EXPECT_EQ(batch.at("observation.goal.pose").scalar_type(), torch::kFloat32);
}

TEST(ObservationBatch, TakesABareArrayAsStateOrImage) {
  const std::string root(env::kRootPath);
  EXPECT_TRUE(observation_batch(std::array{Observation{{root, numbers({1, 2})}}}, {""}).contains("observation.state"));
  EXPECT_TRUE(observation_batch(std::array{Observation{{root, picture(0)}}}, {""}).contains("observation.image"));
}

TEST(ObservationBatch, RefusesPixelsThatAreNoPicture) {
  const std::array observations{Observation{{"pixels/top", Array::of(std::vector<uint8_t>(12), {3, 2, 2})}}};
  try {
    observation_batch(observations, {""});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'pixels/top'"));
    EXPECT_THAT(error.what(), HasSubstr("uint8 [3, 2, 2]"));
  }
}

}  // namespace
}  // namespace lerobot::eval
