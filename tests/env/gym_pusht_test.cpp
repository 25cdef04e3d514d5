// The real gym_pusht through the bridge, beside ours. Runs where a Python with gym_pusht is found.
#include <gmock/gmock.h>

#include <cmath>

#include "golden_pusht.hpp"
#include "gym_test_environments.hpp"
#include "lerobot/env/pusht.hpp"
#include "lerobot/env/vector_env.hpp"

namespace lerobot::env {
namespace {

constexpr int64_t kEpisodeLength = 20;

VectorEnv ours() {
  std::vector<std::unique_ptr<Environment>> environments;
  for (int i = 0; i < 2; ++i) {
    environments.push_back(std::make_unique<PushT>(PushTOptions{.obs_type = PushTObsType::kPixelsAgentPos,
                                                                .visualization_width = 384,
                                                                .visualization_height = 384,
                                                                .max_episode_steps = kEpisodeLength}));
  }
  return VectorEnv(std::move(environments));
}

VectorEnv theirs() {
  GymOptions options;
  options.gym_id = "gym_pusht/PushT-v0";
  options.kwargs = {{"obs_type", "pixels_agent_pos"},
                    {"render_mode", "rgb_array"},
                    {"visualization_width", 384},
                    {"visualization_height", 384}};
  options.max_episode_steps = kEpisodeLength;
  options.python = python_with_numpy().string();
  std::vector<std::unique_ptr<Environment>> environments;
  for (auto& environment : make_gym_environments(options, 2, true)) environments.push_back(std::move(environment));
  return VectorEnv(std::move(environments), 2);
}

// Circles through the arena, as float32 numbers.
std::vector<double> actions(int64_t step) {
  std::vector<float> rounded;
  for (const double phase : {0.0, 2.0}) {
    rounded.push_back(static_cast<float>(256 + 180 * std::cos(0.13 * static_cast<double>(step) + phase)));
    rounded.push_back(static_cast<float>(256 + 150 * std::sin(0.21 * static_cast<double>(step) + phase)));
  }
  return {rounded.begin(), rounded.end()};
}

TEST(GymPushT, DoesThroughTheBridgeWhatOursDoes) {
  if (!python_has_package("gym_pusht")) GTEST_SKIP() << "needs a Python with gym_pusht";
  if (!kChipmunkIsBitExact) GTEST_SKIP() << "this machine's Chipmunk rounds differently";
  VectorEnv gym = theirs(), native = ours();
  EXPECT_EQ(gym.metadata().id, native.metadata().id);
  EXPECT_EQ(gym.metadata().render_fps, native.metadata().render_fps);
  EXPECT_EQ(gym.metadata().max_episode_steps, native.metadata().max_episode_steps);
  EXPECT_EQ(gym.metadata().task, native.metadata().task);

  const std::vector<uint64_t> seeds{3, 1000};
  const VectorReset gym_start = gym.reset(seeds, {.new_rollout = true});
  EXPECT_EQ(gym_start.observations, native.reset(seeds, {.new_rollout = true}).observations);
  for (int64_t i = 0; i < 3 * kEpisodeLength; ++i) {
    const VectorStep expected = native.step(actions(i));
    const VectorStep step = gym.step(actions(i));
    ASSERT_EQ(step.observations, expected.observations) << "step " << i;
    ASSERT_EQ(step.truncated, expected.truncated) << "step " << i;
    ASSERT_EQ(step.successes(), expected.successes()) << "step " << i;
    for (size_t k = 0; k < 2; ++k) {
      ASSERT_NEAR(step.rewards[k], expected.rewards[k], 1e-12) << "step " << i;
      ASSERT_EQ(step.finals[k].has_value(), expected.finals[k].has_value()) << "step " << i;
      if (step.finals[k]) {
        ASSERT_EQ(step.finals[k]->observation, expected.finals[k]->observation) << "step " << i;
      }
      EXPECT_EQ(step.infos[k].values.at("block_pose"), expected.infos[k].values.at("block_pose")) << "step " << i;
    }
  }
  EXPECT_EQ(gym.render(2)[1].rgb, native.render(2)[1].rgb);
}

}  // namespace
}  // namespace lerobot::env
