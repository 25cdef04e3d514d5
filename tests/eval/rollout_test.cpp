#include "lerobot/eval/rollout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "eval/scripted_environment.hpp"
#include "lerobot/core/error.hpp"
#include "support/torch.hpp"

namespace lerobot::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Script kShort = {{.reward = 1.0}, {.reward = 2.0, .is_success = true, .terminated = true}};
const Script kLong = {{.reward = 0.5}, {}, {}, {.terminated = true}};

TEST(Rollout, SeedsEachEnvironmentAndSaysThatARolloutBegins) {
  const auto environments = scripted_environments({kShort, kShort});
  CountingActor actor(2);
  rollout(*environments, actor, std::vector<uint64_t>{40, 41});
  EXPECT_EQ(actor.resets, 1);
  EXPECT_EQ(scripted(*environments, 0).resets.front(), (ScriptedEnvironment::Reset{40, true}));
  EXPECT_EQ(scripted(*environments, 1).resets.front(), (ScriptedEnvironment::Reset{41, true}));
}

TEST(Rollout, LetsTheStreamsGoOnWithoutSeeds) {
  const auto environments = scripted_environments({kShort});
  CountingActor actor(1);
  rollout(*environments, actor, {});
  EXPECT_EQ(scripted(*environments, 0).resets.front(), (ScriptedEnvironment::Reset{std::nullopt, true}));
}

TEST(Rollout, GivesTheActorObservationsAndTasksAndTheEnvironmentsItsActions) {
  const auto environments = scripted_environments({kLong, kLong});
  CountingActor actor(2);
  rollout(*environments, actor, {});
  ASSERT_EQ(actor.seen.size(), 4U);
  EXPECT_THAT(actor.seen[0].task, ElementsAre("task 0", "task 1"));
  EXPECT_EQ(actor.seen[2].at("observation.state")[1].item<float>(), 2.0F);
  EXPECT_THAT(scripted(*environments, 1).actions, ElementsAre(0.0, 1.0, 2.0, 3.0));
}

TEST(Rollout, ScoresUntilTheLastEpisodeIsOver) {
  const auto environments = scripted_environments({kShort, kLong});
  CountingActor actor(2);
  const auto scores = rollout(*environments, actor, {});
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores[0].sum_reward(), 1.0 + 2.0 + 1.0);  // the first step after the auto-reset included
  EXPECT_EQ(scores[0].length(), 2);
  EXPECT_TRUE(scores[0].success());
  EXPECT_EQ(scores[1].length(), 4);
  EXPECT_FALSE(scores[1].success());
}

TEST(Rollout, EndsEveryEpisodeAtTheStepLimit) {
  const auto environments = scripted_environments({{}, kShort}, 3);
  CountingActor actor(2);
  const auto scores = rollout(*environments, actor, {});
  EXPECT_EQ(actor.seen.size(), 3U);
  EXPECT_EQ(scores[0].length(), 3);
}

TEST(Rollout, StopsWhenTheWantedEpisodesAreComplete) {
  const auto environments = scripted_environments({kShort, kLong});
  CountingActor actor(2);
  const auto scores = rollout(*environments, actor, {}, {.wanted = 1});
  ASSERT_EQ(scores.size(), 1U);
  EXPECT_EQ(scores[0].sum_reward(), 4.0);
  EXPECT_EQ(actor.seen.size(), 3U);  // two steps and the one after the end
}

TEST(Rollout, TellsOfEachEpisodeAsSoonAsItIsComplete) {
  const auto environments = scripted_environments({kShort, kLong});
  CountingActor actor(2);
  std::vector<std::pair<int64_t, size_t>> told;  // environment, steps so far
  rollout(*environments, actor, {},
          {.on_episode = [&](int64_t i, const EpisodeScore&) { told.emplace_back(i, actor.seen.size()); }});
  EXPECT_THAT(told, ElementsAre(std::pair<int64_t, size_t>(0, 3), std::pair<int64_t, size_t>(1, 4)));
}

TEST(Rollout, CountsSuccessesSoFar) {
  const auto environments = scripted_environments({kShort, kLong});
  CountingActor actor(2);
  std::vector<double> rates;
  rollout(*environments, actor, {}, {.on_step = [&](const RolloutStep& step) {
    EXPECT_EQ(step.max_steps, 10);
    rates.push_back(step.running_success_rate);
  }});
  EXPECT_THAT(rates, ElementsAre(0.0, 0.5, 0.5, 0.5));
}

TEST(Rollout, AsksBeforeEveryStepWhetherToGoOn) {
  const auto environments = scripted_environments({kLong});
  CountingActor actor(1);
  int64_t checks = 0;
  const auto check = [&] {
    if (++checks == 3) throw std::runtime_error("asked to stop");
  };
  EXPECT_THROW(rollout(*environments, actor, {}, {.check = check}), std::runtime_error);
  EXPECT_EQ(actor.seen.size(), 2U);
}

template <typename Call>
std::string usage_error_of(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Rollout, RefusesActionsOfAnotherSize) {
  const auto environments = scripted_environments({kShort, kShort});
  CountingActor actor(2, /*action_dim=*/7);
  EXPECT_THAT(usage_error_of([&] { rollout(*environments, actor, {}); }),
              testing::AllOf(HasSubstr("[2, 1]"), HasSubstr("[2, 7]")));
}

TEST(Rollout, RefusesAnEnvironmentWithoutAStepLimit) {
  const auto environments = scripted_environments({kShort}, std::nullopt);
  CountingActor actor(1);
  EXPECT_THAT(usage_error_of([&] { rollout(*environments, actor, {}); }), HasSubstr("--env.episode_length"));
}

}  // namespace
}  // namespace lerobot::eval
