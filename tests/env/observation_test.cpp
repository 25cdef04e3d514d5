#include "lerobot/env/observation.hpp"

#include <gmock/gmock.h>

#include "lerobot/core/error.hpp"

namespace lerobot::env {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

Observation with_position(double x, double y) {
  return {{"agent_pos", Array::of(std::array{x, y})},
          {"pixels", Array::of(std::array<uint8_t, 3>{1, 2, static_cast<uint8_t>(x)}, {1, 1, 3})}};
}

TEST(Array, KeepsValuesShapeAndType) {
  const Observation observation = with_position(4, 5);
  EXPECT_THAT(observation.at("agent_pos").float64(), ElementsAre(4, 5));
  EXPECT_THAT(observation.at("agent_pos").shape, ElementsAre(2));
  EXPECT_THAT(observation.at("pixels").uint8(), ElementsAre(1, 2, 4));
  EXPECT_THROW(observation.at("pixels").float64(), std::logic_error);
}

TEST(Stack, PutsTheEnvironmentsInFront) {
  const Observation stacked = stack(std::array{with_position(1, 2), with_position(3, 4)});
  EXPECT_EQ(stacked.size(), 2U);
  EXPECT_THAT(stacked.at("agent_pos").shape, ElementsAre(2, 2));
  EXPECT_THAT(stacked.at("agent_pos").float64(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(stacked.at("pixels").shape, ElementsAre(2, 1, 1, 3));
  EXPECT_THAT(stacked.at("pixels").uint8(), ElementsAre(1, 2, 1, 1, 2, 3));
}

TEST(Stack, NamesWhatDoesNotMatch) {
  Observation longer = with_position(3, 4);
  longer["agent_pos"] = Array::of(std::array{1.0, 2.0, 3.0});
  EXPECT_THAT(
      [&] {
        stack(std::array{with_position(1, 2), longer});
      },
      ThrowsMessage<RunError>("observation 'agent_pos' is float64 [3] in environment 1 and float64 [2] in "
                              "environment 0"));
  Observation poorer = with_position(3, 4);
  poorer.erase("pixels");
  EXPECT_THAT(
      [&] {
        stack(std::array{with_position(1, 2), poorer});
      },
      ThrowsMessage<RunError>("environment 1 has no observation 'pixels', environment 0 has"));
  EXPECT_THAT(
      [&] {
        stack(std::array{poorer, with_position(1, 2)});
      },
      ThrowsMessage<RunError>("environment 0 has no observation 'pixels', environment 1 has"));
}

}  // namespace
}  // namespace lerobot::env
