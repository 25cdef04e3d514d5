#include "lerobot/env/vector_env.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "golden_pusht.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/env/pusht.hpp"

namespace lerobot::env {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::unique_ptr<Environment>> pushts(int count, const PushTOptions& options = {}) {
  std::vector<std::unique_ptr<Environment>> environments;
  for (int i = 0; i < count; ++i) environments.push_back(std::make_unique<PushT>(options));
  return environments;
}

std::vector<double> numbers(const Observation& observation) {
  const auto values = observation.at("").float64();
  return {values.begin(), values.end()};
}

std::vector<double> flattened(const nlohmann::json& rows) {
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

// gymnasium's SyncVectorEnv with AutoresetMode.SAME_STEP: the second of three environments succeeds on the way.
void expect_step(const VectorStep& step, const nlohmann::json& expected) {
  const bool any_ended = expected.contains("final_obs");
  for (size_t i = 0; i < step.observations.size(); ++i) {
    EXPECT_THAT(numbers(step.observations[i]), ElementsAreArray(expected["obs"][i].get<std::vector<double>>()));
    EXPECT_NEAR(step.rewards[i], expected["reward"][i].get<double>(), 1e-12);
    EXPECT_EQ(step.terminated[i], expected["terminated"][i].get<bool>());
    EXPECT_EQ(step.truncated[i], expected["truncated"][i].get<bool>());
    const bool ended = any_ended && !expected["final_obs"][i].is_null();
    ASSERT_EQ(step.finals[i].has_value(), ended);
    if (!ended) continue;
    EXPECT_THAT(numbers(step.finals[i]->observation),
                ElementsAreArray(expected["final_obs"][i].get<std::vector<double>>()));
    EXPECT_EQ(step.infos[i].is_success, false);  // the next episode's
  }
  if (any_ended) {
    EXPECT_THAT(step.successes(), ElementsAreArray(expected["final_info_is_success"].get<std::vector<bool>>()));
  }
}

void replay_the_golden_batch(int64_t threads) {
  const nlohmann::json golden = read_golden_pusht("vector_same_step.json");
  VectorEnv batch(pushts(3), threads);
  batch.reset(golden.at("seeds").get<std::vector<uint64_t>>());
  dynamic_cast<PushT&>(batch.environment(1)).reset_to_state(golden.at("env1_reset_to_state"));
  int ended = 0;
  for (const auto& expected : golden.at("steps")) {
    SCOPED_TRACE(testing::Message() << "step " << &expected - &golden.at("steps").front());
    const VectorStep step = batch.step(flattened(expected.at("action")));
    expect_step(step, expected);
    ended += static_cast<int>(std::count_if(step.finals.begin(), step.finals.end(), [](auto& f) { return !!f; }));
  }
  EXPECT_EQ(ended, 1);
}

TEST(VectorEnv, ResetsWithinTheStepThatEndsAnEpisode) {
  if (!kChipmunkIsBitExact) GTEST_SKIP() << "this machine's Chipmunk rounds differently";
  replay_the_golden_batch(1);
}

TEST(VectorEnv, GivesTheSameFromThreads) {
  if (!kChipmunkIsBitExact) GTEST_SKIP() << "this machine's Chipmunk rounds differently";
  replay_the_golden_batch(3);
}

// An environment that does what the test says, to see what a vector environment makes of it.
class Scripted : public Environment {
 public:
  explicit Scripted(std::vector<std::optional<bool>> success_of_step, int64_t action_dim = 1, int64_t length = 2)
      : success_of_step_(std::move(success_of_step)), length_(length) {
    metadata_.id = "scripted";
    metadata_.action_dim = action_dim;
  }
  const EnvironmentMetadata& metadata() const override { return metadata_; }
  ResetResult reset(std::optional<uint64_t> seed, const ResetOptions& options) override {
    seeds.push_back(seed);
    new_rollouts.push_back(options.new_rollout);
    steps_ = 0;
    return {};
  }
  StepResult step(std::span<const double> action) override {
    if (action[0] < 0) throw RunError("no way back");
    StepResult result;
    result.info.is_success = success_of_step_.at(static_cast<size_t>(steps_));
    result.truncated = ++steps_ == length_;
    return result;
  }
  Image render() override { return {1, 1, {9, 9, 9}}; }

  std::vector<std::optional<uint64_t>> seeds;
  std::vector<bool> new_rollouts;

 private:
  std::vector<std::optional<bool>> success_of_step_;
  int64_t length_;
  int64_t steps_ = 0;
  EnvironmentMetadata metadata_;
};

VectorEnv batch_of(std::unique_ptr<Environment> first, std::unique_ptr<Environment> second, int64_t threads = 1) {
  std::vector<std::unique_ptr<Environment>> environments;
  environments.push_back(std::move(first));
  environments.push_back(std::move(second));
  return VectorEnv(std::move(environments), threads);
}

TEST(VectorEnv, CountsOnlyFinalInfosAsSuccessWhereAnEpisodeEnds) {
  // The second environment says success on every step; its episode is longer.
  VectorEnv batch = batch_of(std::make_unique<Scripted>(std::vector<std::optional<bool>>{false, true}),
                             std::make_unique<Scripted>(std::vector<std::optional<bool>>{true, true, true}, 1, 3));
  batch.reset();
  EXPECT_THAT(batch.step(std::array{0.0, 0.0}).successes(), ElementsAre(false, true));
  EXPECT_THAT(batch.step(std::array{0.0, 0.0}).successes(), ElementsAre(true, false));
  EXPECT_THAT(batch.step(std::array{0.0, 0.0}).successes(), ElementsAre(false, true));
}

TEST(VectorEnv, CountsASilentInfoAsNoSuccess) {
  VectorEnv batch = batch_of(std::make_unique<Scripted>(std::vector<std::optional<bool>>{std::nullopt, std::nullopt}),
                             std::make_unique<Scripted>(std::vector<std::optional<bool>>{true, std::nullopt}));
  batch.reset();
  EXPECT_THAT(batch.step(std::array{0.0, 0.0}).successes(), ElementsAre(false, true));
  EXPECT_THAT(batch.step(std::array{0.0, 0.0}).successes(), ElementsAre(false, false));
}

TEST(VectorEnv, SeedsEachEnvironmentAndLeavesAutoResetsUnseeded) {
  const std::vector<std::optional<bool>> script(2, false);
  VectorEnv batch = batch_of(std::make_unique<Scripted>(script), std::make_unique<Scripted>(script));
  batch.reset(std::array<uint64_t, 2>{41, 42}, {.new_rollout = true});
  for (int i = 0; i < 2; ++i) batch.step(std::array{0.0, 0.0});
  auto& second = dynamic_cast<Scripted&>(batch.environment(1));
  EXPECT_THAT(second.seeds, ElementsAre(std::optional<uint64_t>(42), std::nullopt));
  EXPECT_THAT(second.new_rollouts, ElementsAre(true, false));
}

TEST(VectorEnv, SaysWhichEnvironmentFailed) {
  const std::vector<std::optional<bool>> script(2, false);
  for (const int64_t threads : {1, 2}) {
    VectorEnv batch = batch_of(std::make_unique<Scripted>(script), std::make_unique<Scripted>(script), threads);
    batch.reset();
    EXPECT_THAT([&] { batch.step(std::array{0.0, -1.0}); }, ThrowsMessage<RunError>("environment 1: no way back"));
  }
}

TEST(VectorEnv, RendersTheFirstOnes) {
  VectorEnv batch(pushts(3, {.visualization_width = 100, .visualization_height = 96}));
  batch.reset(std::array<uint64_t, 3>{1, 2, 3});
  const std::vector<Image> images = batch.render(2);
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[1].rgb, batch.environment(1).render().rgb);
  EXPECT_NE(images[0].rgb, images[1].rgb);
}

TEST(VectorEnv, RefusesAnEmptyBatchAndMixedActions) {
  EXPECT_THROW(VectorEnv({}), UsageError);
  const auto mixed = [] {
    return batch_of(std::make_unique<Scripted>(std::vector<std::optional<bool>>{}, 1),
                    std::make_unique<Scripted>(std::vector<std::optional<bool>>{}, 2));
  };
  EXPECT_THAT(mixed, ThrowsMessage<UsageError>(AllOf(HasSubstr("1 numbers"), HasSubstr("scripted 2"))));
}

}  // namespace
}  // namespace lerobot::env
