#include "lerobot/env/pusht.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "golden_pusht.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::env {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<double> numbers(const Array& array) {
  return {array.float64().begin(), array.float64().end()};
}

TEST(PushT, StartsWhereNumpysGeneratorSays) {
  for (const auto& golden : read_golden_pusht("resets.json")) {
    PushT environment;
    std::optional<uint64_t> seed = golden.at("seed").get<uint64_t>();
    for (const auto& expected : golden.at("observations")) {
      const ResetResult reset = environment.reset(seed);
      ASSERT_THAT(numbers(reset.observation.at("")), ElementsAreArray(expected.get<std::vector<double>>()))
          << "seed " << golden["seed"];
      seed.reset();  // the stream goes on
    }
  }
}

TEST(PushT, StartsSomewhereElseEachTimeWithoutASeed) {
  PushT one, other;
  EXPECT_NE(one.reset(std::nullopt).observation, other.reset(std::nullopt).observation);
}

TEST(PushT, GivesTheArraysOfItsObsType) {
  const auto first = [](PushTObsType obs_type) {
    PushT environment({.obs_type = obs_type, .observation_width = 64, .observation_height = 48});
    return environment.reset(3).observation;
  };
  const Observation state = first(PushTObsType::kState);
  EXPECT_EQ(state.size(), 1U);
  EXPECT_THAT(state.at("").shape, ElementsAre(5));

  const Observation keypoints = first(PushTObsType::kEnvironmentStateAgentPos);
  EXPECT_EQ(keypoints.size(), 2U);
  EXPECT_THAT(keypoints.at("environment_state").shape, ElementsAre(16));
  EXPECT_THAT(numbers(keypoints.at("agent_pos")), ElementsAre(state.at("").float64()[0], state.at("").float64()[1]));

  const Observation pixels = first(PushTObsType::kPixels);
  EXPECT_EQ(pixels.size(), 1U);
  EXPECT_THAT(pixels.at("").shape, ElementsAre(48, 64, 3));

  const Observation both = first(PushTObsType::kPixelsAgentPos);
  EXPECT_EQ(both.size(), 2U);
  EXPECT_EQ(both.at("pixels"), pixels.at(""));
  EXPECT_EQ(both.at("agent_pos"), keypoints.at("agent_pos"));
}

TEST(PushT, ReducesTheObservedAngleAndNotTheInfos) {
  PushT environment;
  const ResetResult reset = environment.reset_to_state({100, 100, 300, 300, -0.5}, 0);
  EXPECT_DOUBLE_EQ(reset.observation.at("").float64()[4], 2 * std::numbers::pi - 0.5);
  EXPECT_DOUBLE_EQ(std::get<std::vector<double>>(reset.info.values.at("block_pose"))[2], -0.5);
}

TEST(PushT, TellsWhatGymPushtTells) {
  PushT environment;
  const ResetResult reset = environment.reset_to_state({100, 120, 300, 300, 0.25}, 0);
  EXPECT_EQ(reset.info.is_success, false);
  EXPECT_FALSE(reset.info.values.contains("coverage"));
  const StepResult step = environment.step(std::array{100.0, 130.0});
  EXPECT_EQ(step.info.is_success, false);
  EXPECT_GT(std::get<std::vector<double>>(step.info.values.at("vel_agent"))[1], 0.0);
  EXPECT_EQ(std::get<std::vector<double>>(step.info.values.at("goal_pose")),
            (std::vector{256.0, 256.0, std::numbers::pi / 4}));
  EXPECT_EQ(std::get<int64_t>(step.info.values.at("n_contacts")), 0);
  EXPECT_NEAR(std::get<double>(step.info.values.at("coverage")) / 0.95, step.reward, 1e-15);
  EXPECT_EQ(environment.metadata().render_fps, 10.0);
  EXPECT_EQ(environment.metadata().max_episode_steps, 300);
  EXPECT_EQ(environment.metadata().task, "");
}

TEST(PushT, IsSolvedAboveTheThreshold) {
  // The goal pose, reached by turning about the centre of gravity (0, 45).
  const double s = std::sqrt(0.5);
  const std::array<double, 5> on_goal{50, 50, 256 - 45 * s, 256 - 45 + 45 * s, std::numbers::pi / 4};
  const auto step = [&](double threshold) {
    PushT environment({.success_threshold = threshold});
    environment.reset_to_state(on_goal, 0);
    return environment.step(std::array{50.0, 50.0});
  };
  const StepResult solved = step(0.95);
  EXPECT_TRUE(solved.terminated);
  EXPECT_EQ(solved.info.is_success, true);
  EXPECT_EQ(solved.reward, 1.0);
  const StepResult short_of_it = step(1.01);
  EXPECT_FALSE(short_of_it.terminated);
  EXPECT_NEAR(short_of_it.reward, 1 / 1.01, 1e-12);
}

TEST(PushT, TruncatesAtTheTimeLimitOfEachEpisode) {
  PushT environment({.max_episode_steps = 3});
  for (int episode = 0; episode < 2; ++episode) {
    environment.reset(episode);
    std::vector<bool> truncated;
    for (int i = 0; i < 4; ++i) truncated.push_back(environment.step(std::array{256.0, 256.0}).truncated);
    EXPECT_THAT(truncated, ElementsAre(false, false, true, true));
  }
}

TEST(PushT, NeverTruncatesWithoutATimeLimit) {
  PushT environment({.max_episode_steps = std::nullopt});
  environment.reset(0);
  for (int i = 0; i < 400; ++i) ASSERT_FALSE(environment.step(std::array{50.0, 50.0}).truncated);
}

TEST(PushT, RefusesActionsThatAreNotFinite) {
  PushT environment;
  const Observation before = environment.reset(0).observation;
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(
      [&] {
        environment.step(std::array{nan, 1.0});
      },
      ThrowsMessage<RunError>(AllOf(HasSubstr("finite"), HasSubstr("(nan, 1)"))));
  EXPECT_THROW(environment.step(std::array{1.0, -infinity}), RunError);
  EXPECT_THROW(environment.step(std::array{1e39, 1.0}), RunError);
  // The episode goes on as if nothing had been asked.
  PushT untouched;
  untouched.reset(0);
  EXPECT_EQ(environment.step(std::array{256.0, 256.0}).observation,
            untouched.step(std::array{256.0, 256.0}).observation);
}

TEST(PushT, RefusesToStepOrRenderBeforeTheFirstReset) {
  PushT environment;
  EXPECT_THROW(environment.step(std::array{1.0, 1.0}), std::logic_error);
  EXPECT_THROW(environment.render(), std::logic_error);
}

TEST(PushT, NamesTheOptionThatIsOutOfRange) {
  const auto refuses = [](const PushTOptions& options, const std::string& message) {
    EXPECT_THAT([&] { PushT environment(options); }, ThrowsMessage<UsageError>(HasSubstr(message)));
  };
  refuses({.observation_width = 0}, "observation_width must be 1 to 16384 pixels, got 0");
  refuses({.visualization_height = 100000}, "visualization_height");
  refuses({.success_threshold = 0.0}, "success_threshold must be greater than 0, got 0");
  refuses({.damping = -1.0}, "damping");
  refuses({.damping = 1.5}, "damping must be between 0 and 1, got 1.5");
  refuses({.block_cog = std::array{0.0, std::nan("")}}, "block_cog must be two numbers up to 1e+06, got nan");
  refuses({.max_episode_steps = 0}, "max_episode_steps must be at least 1, got 0");
}

TEST(PushT, RefusesAStateThatIsNotFinite) {
  PushT environment;
  EXPECT_THAT(
      [&] {
        environment.reset_to_state({1, 2, std::nan(""), 4, 5});
      },
      ThrowsMessage<UsageError>(HasSubstr("reset_to_state must be five numbers up to 1e+06, got nan")));
}

TEST(PushT, KnowsTheObsTypesByName) {
  EXPECT_EQ(parse_pusht_obs_type("pixels_agent_pos"), PushTObsType::kPixelsAgentPos);
  EXPECT_THAT([] { parse_pusht_obs_type("keypoints"); },
              ThrowsMessage<UsageError>("Unknown obs_type keypoints. Must be one of [pixels, state, "
                                        "environment_state_agent_pos, pixels_agent_pos]"));
}

TEST(PushT, RendersInTheSizeAskedForWithTheLastActionMarked) {
  PushT environment({.visualization_width = 200, .visualization_height = 120});
  environment.reset_to_state({100, 100, 300, 300, 0.0}, 0);
  const Image unmarked = environment.render();
  EXPECT_EQ(unmarked.width, 200);
  EXPECT_EQ(unmarked.height, 120);
  EXPECT_EQ(unmarked.rgb.size(), 200U * 120U * 3U);
  environment.step(std::array{400.0, 64.0});
  const Image marked = environment.render();
  // x is scaled by the height and y by the width, as gym_pusht does it.
  const size_t x = 400 * 120 / 512, y = 64 * 200 / 512;
  const uint8_t* pixel = marked.rgb.data() + (y * 200 + x) * 3;
  EXPECT_THAT(std::vector<int>(pixel, pixel + 3), ElementsAre(255, 0, 0));
  // The mark of the episode before stays until the first step.
  environment.reset_to_state({100, 100, 300, 300, 0.0}, 0);
  EXPECT_NE(environment.render().rgb, unmarked.rgb);
}

}  // namespace
}  // namespace lerobot::env
