#include "lerobot/dataset/sampler.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "dataset/captured_log.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"

namespace lerobot::dataset {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<EpisodeRows> kThreeOfThirty{{0, 0, 30}, {1, 30, 30}, {2, 60, 30}};

// Permutations that LeRobot 0.6.1's EpisodeAwareSampler gave for sample_dataset_b.
std::vector<int64_t> golden(const char* name) {
  static const Json expected =
      read_json(std::filesystem::path(LEROBOT_TEST_DATA) / "datasets" / "sample_dataset_b_expected.json");
  return expected.at("sampler").at(name).get<std::vector<int64_t>>();
}

TEST(Sampler, EqualsLeRobotsOrderForEverySeedAndEpoch) {
  EXPECT_EQ(EpisodeAwareSampler(kThreeOfThirty, {.seed = 1000}).order(0), golden("seed1000_epoch0_n90"));
  EXPECT_EQ(EpisodeAwareSampler(kThreeOfThirty, {.seed = 1000}).order(1), golden("seed1000_epoch1_n90"));
  EXPECT_EQ(EpisodeAwareSampler(kThreeOfThirty, {.seed = 0}).order(0), golden("seed0_epoch0_n90"));
  EXPECT_EQ(EpisodeAwareSampler(kThreeOfThirty, {.seed = 42}).order(7), golden("seed42_epoch7_n90"));
}

TEST(Sampler, DropsTheLastFramesOfEveryEpisodeAsLeRobot) {
  const EpisodeAwareSampler sampler(kThreeOfThirty, {.drop_n_last_frames = 7, .seed = 1000});
  EXPECT_EQ(sampler.size(), 69);
  EXPECT_EQ(sampler.order(0), golden("seed1000_epoch0_drop7_n69"));
}

TEST(Sampler, VisitsTheRowsOfTheOpenedEpisodesAlone) {
  const std::vector<EpisodeRows> chosen{{4, 0, 3}, {9, 3, 2}};  // episodes 4 and 9 of a larger dataset
  std::vector<int64_t> order = EpisodeAwareSampler(chosen, {.seed = 3}).order(5);
  std::sort(order.begin(), order.end());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(Sampler, KeepsTheOrderOfFramesWithoutShuffling) {
  const std::vector<EpisodeRows> episodes{{0, 0, 4}, {1, 4, 3}};
  const EpisodeAwareSampler sampler(episodes, {.drop_n_first_frames = 1, .drop_n_last_frames = 1, .shuffle = false});
  EXPECT_THAT(sampler.order(0), ElementsAre(1, 2, 5));
  EXPECT_THAT(sampler.order(1), ElementsAre(1, 2, 5));
}

TEST(Sampler, SkipsEpisodesThatAreTooShortWithAWarning) {
  const std::vector<EpisodeRows> episodes{{0, 0, 7}, {1, 7, 8}};
  const testing_support::CapturedLog log;
  EXPECT_THAT(EpisodeAwareSampler(episodes, {.drop_n_last_frames = 7}).order(0), ElementsAre(7));
  EXPECT_THAT(log.text(), HasSubstr("Episode 0 has 7 frames"));
}

TEST(Sampler, RefusesADatasetOfWhichNothingIsLeft) {
  const std::vector<EpisodeRows> episodes{{0, 0, 7}};
  EXPECT_THAT([&] { EpisodeAwareSampler(episodes, {.drop_n_last_frames = 7}); },
              ThrowsMessage<UsageError>(HasSubstr("drop_n_last_frames=7")));
}

}  // namespace
}  // namespace lerobot::dataset
