#include "lerobot/eval/episode_score.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "eval/golden_evaluation.hpp"

namespace lerobot::eval {
namespace {

bool holds(const Json& steps, int64_t step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

// The score of environment `index` in rollout `batch` of the golden evaluation.
EpisodeScore golden_score(int64_t batch, int64_t index, ScoreRule rule) {
  const Json& golden = golden_evaluation();
  const Json& rewards = golden["rewards"][batch];
  const Json& terminated = golden["terminated"][batch][index];
  EpisodeScore score(rule);
  bool ended = false;
  for (size_t step = 0; step < rewards.size(); ++step) {
    const bool is_last = step + 1 == rewards.size();
    const bool is_solved = holds(terminated, static_cast<int64_t>(step));
    ended = ended || is_solved || is_last;
    score.add(rewards[step][index].get<double>(), is_solved, ended, is_last);
  }
  return score;
}

TEST(EpisodeScore, EqualsLeRobotsOnItsRewards) {
  for (const Json& expected : golden_evaluation()["per_episode"]) {
    const auto episode = expected["episode_ix"].get<int64_t>();
    const EpisodeScore score =
        golden_score(episode / kGoldenBatchSize, episode % kGoldenBatchSize, ScoreRule::kLeRobot);
    EXPECT_TRUE(score.is_complete());
    EXPECT_NEAR(score.sum_reward(), expected["sum_reward"].get<double>(), 1e-9) << episode;
    EXPECT_NEAR(score.max_reward(), expected["max_reward"].get<double>(), 1e-9) << episode;
    EXPECT_EQ(score.success(), expected["success"].get<bool>()) << episode;
  }
}

TEST(EpisodeScore, LeavesTheStepAfterTheEndOutWhenAskedTo) {
  const EpisodeScore score = golden_score(0, 2, ScoreRule::kEpisodeOnly);
  EXPECT_NEAR(score.sum_reward(), 3.362324388770559 - 1.0, 1e-9);
  EXPECT_EQ(score.length(), 15);
}

TEST(EpisodeScore, IsCompleteOnlyAfterTheStepThatFollowsTheEnd) {
  EpisodeScore score(ScoreRule::kLeRobot);
  score.add(1.0, false, /*ends=*/true, /*batch_ends=*/false);
  EXPECT_TRUE(score.has_ended());
  EXPECT_FALSE(score.is_complete());
  score.add(0.5, true, true, false);
  EXPECT_TRUE(score.is_complete());
  EXPECT_EQ(score.sum_reward(), 1.5);
  EXPECT_TRUE(score.success());
  EXPECT_EQ(score.length(), 1);
  score.add(7.0, true, true, true);  // too late to count
  EXPECT_EQ(score.sum_reward(), 1.5);
}

TEST(EpisodeScore, IsCompleteAtTheEndOfTheBatch) {
  EpisodeScore score(ScoreRule::kLeRobot);
  score.add(-2.0, false, true, /*batch_ends=*/true);
  EXPECT_TRUE(score.is_complete());
  EXPECT_EQ(score.max_reward(), -2.0);
}

TEST(EpisodeScore, CountsTheStepsThatFollowAsRewardZeroForTheMaximum) {
  EpisodeScore score(ScoreRule::kLeRobot);
  score.add(-2.0, false, true, false);
  score.add(-1.0, false, true, false);  // and others come after it
  EXPECT_EQ(score.max_reward(), 0.0);
  EXPECT_EQ(score.sum_reward(), -3.0);
}

TEST(EpisodeScore, IgnoresASuccessAfterTheEpisodeWhenAskedTo) {
  EpisodeScore score(ScoreRule::kEpisodeOnly);
  score.add(-2.0, false, true, false);
  EXPECT_TRUE(score.is_complete());
  score.add(5.0, true, true, false);
  EXPECT_FALSE(score.success());
  EXPECT_EQ(score.max_reward(), -2.0);
}

TEST(EpisodeScore, KeepsANaNInTheMaximum) {
  EpisodeScore score(ScoreRule::kLeRobot);
  score.add(std::numeric_limits<double>::quiet_NaN(), false, false, false);
  score.add(1.0, false, true, true);
  EXPECT_TRUE(std::isnan(score.max_reward()));
}

}  // namespace
}  // namespace lerobot::eval
