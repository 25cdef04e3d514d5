// What comes through the bridge, when nothing goes wrong.
#include "lerobot/env/gym_environment.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "gym_test_environments.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/env/vector_env.hpp"

namespace lerobot::env {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Pair;
using testing::SizeIs;

class GymEnvironments : public testing::Test {
 protected:
  void SetUp() override { LEROBOT_NEEDS_PYTHON_WITH_NUMPY(); }
};

constexpr std::array kAction{0.25, -0.5};

VectorEnv vector_env(const GymOptions& options, int64_t count, bool one_process_each) {
  std::vector<std::unique_ptr<Environment>> environments;
  for (auto& environment : make_gym_environments(options, count, one_process_each)) {
    environments.push_back(std::move(environment));
  }
  return VectorEnv(std::move(environments), one_process_each ? count : 1);
}

// The picture of Counter after `count` steps.
std::vector<uint8_t> counter_picture(int64_t count, size_t height, size_t width) {
  std::vector<uint8_t> bytes(height * width * 3);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + static_cast<size_t>(count));
  return bytes;
}

std::vector<uint8_t> bytes_of(const Array& array) {
  return {array.uint8().begin(), array.uint8().end()};
}

int64_t info_number(const Info& info, const std::string& name) {
  return std::get<int64_t>(info.values.at(name));
}

TEST_F(GymEnvironments, DescribeThemselves) {
  const auto environment = make_test_environment("Counter-v0", {{"task", "count to five"}});
  EXPECT_EQ(environment->metadata().id, "gym_tests/Counter-v0");
  EXPECT_EQ(environment->metadata().render_fps, 25.0);
  EXPECT_EQ(environment->metadata().max_episode_steps, 300);  // as registered
  EXPECT_EQ(environment->metadata().action_dim, 2);
  EXPECT_EQ(environment->metadata().task, "count to five");
  EXPECT_THAT(environment->observation_space(),
              ElementsAre(GymObservationSpace{"agent_pos", ElementType::kFloat64, {3}},
                          GymObservationSpace{"pixels/top", ElementType::kUint8, {6, 8, 3}}));
}

TEST_F(GymEnvironments, TruncateAfterTheGivenNumberOfSteps) {
  GymOptions options = test_options("Counter-v0");
  options.max_episode_steps = 2;
  const auto environment = std::move(make_gym_environments(options, 1, true).front());
  EXPECT_EQ(environment->metadata().max_episode_steps, 2);
  environment->reset(0);
  EXPECT_FALSE(environment->step(kAction).truncated);
  EXPECT_TRUE(environment->step(kAction).truncated);
}

TEST_F(GymEnvironments, HandNumbersAndPicturesOverExactly) {
  // Larger than what a socket takes at once, and of a size that is no multiple of a memory page.
  const auto environment = make_test_environment(
      "Counter-v0", {{"height", 479}, {"width", 641}, {"start", 0.1}, {"render_mode", "rgb_array"}});
  EXPECT_EQ(bytes_of(environment->reset(0).observation.at("pixels/top")), counter_picture(0, 479, 641));
  const StepResult step = environment->step(std::array{0.2, 0.0});
  EXPECT_EQ(bytes_of(step.observation.at("pixels/top")), counter_picture(1, 479, 641));
  EXPECT_EQ(step.observation.at("agent_pos").float64()[0], 0.1 + static_cast<double>(0.2F));
  EXPECT_EQ(step.reward, static_cast<double>(0.1F));

  const Image picture = environment->render();  // upside down
  ASSERT_EQ(picture.height, 479);
  ASSERT_EQ(picture.width, 641);
  const std::vector<uint8_t> expected = counter_picture(1, 479, 641);
  EXPECT_TRUE(std::equal(picture.rgb.begin(), picture.rgb.begin() + 641 * 3, expected.end() - 641 * 3));
  EXPECT_EQ(bytes_of(step.observation.at("pixels/top")), expected) << "a picture must not touch the observation";
}

TEST_F(GymEnvironments, WidenWhatHasNoElementTypeOfItsOwn) {
  const auto environment = make_test_environment("Shapes-v0");
  const Observation observation = environment->reset(std::nullopt).observation;
  const auto numbers = [&](const std::string& path) {
    const Array& array = observation.at(path);
    EXPECT_EQ(array.type, ElementType::kInt64) << path;
    const auto* first = reinterpret_cast<const int64_t*>(array.bytes.data());
    return std::vector<int64_t>(first, first + array.bytes.size() / sizeof(int64_t));
  };
  EXPECT_THAT(observation, SizeIs(8));  // text is no array
  EXPECT_THAT(numbers("short"), ElementsAre(1, -2, 300, -32768));
  EXPECT_THAT(observation.at("short").shape, ElementsAre(2, 2));
  EXPECT_THAT(numbers("flag"), ElementsAre(1));
  EXPECT_THAT(numbers("choice"), ElementsAre(3));
  EXPECT_THAT(observation.at("choice").shape, IsEmpty());
  EXPECT_THAT(numbers("buttons"), ElementsAre(1, 0, 1));
  EXPECT_THAT(numbers("switches"), ElementsAre(2, 3));
  EXPECT_THAT(numbers("pair/1"), ElementsAre(2));

  const auto floats = [&](const std::string& path) {
    const Array& array = observation.at(path);
    EXPECT_EQ(array.type, ElementType::kFloat32) << path;
    const auto* first = reinterpret_cast<const float*>(array.bytes.data());
    return std::vector<float>(first, first + array.bytes.size() / sizeof(float));
  };
  EXPECT_THAT(floats("half"), ElementsAre(0.5F, -2.25F));
  EXPECT_THAT(floats("pair/0"), ElementsAre(0.1F));
}

TEST_F(GymEnvironments, PassSeedsOptionsAndInfosOn) {
  const auto environment = make_test_environment("Counter-v0", {{"length", 1}});
  const Info started = environment->reset(std::numeric_limits<uint32_t>::max(), {.new_rollout = true}).info;
  EXPECT_EQ(started.is_success, false);
  EXPECT_EQ(info_number(started, "seed"), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(started.values.at("has_options"), InfoValue(true));

  const StepResult step = environment->step(kAction);
  EXPECT_TRUE(step.terminated);
  EXPECT_EQ(step.info.is_success, true);
  EXPECT_THAT(step.info.values, IsSupersetOf({Pair("count", InfoValue(int64_t{1})), Pair("half", InfoValue(0.5)),
                                              Pair("action", InfoValue(std::vector{0.25, -0.5})),
                                              Pair("name", InfoValue(std::string("counter")))}));
  EXPECT_FALSE(step.info.values.contains("left_out"));

  const Info next = environment->reset(std::nullopt).info;
  EXPECT_FALSE(next.values.contains("seed"));  // None
  EXPECT_EQ(next.values.at("has_options"), InfoValue(false));
}

TEST_F(GymEnvironments, AnswerForAnAttributeThatIsNotThere) {
  const auto environment = make_test_environment("Counter-v0", {{"length", 4}});
  EXPECT_FALSE(environment->attribute("task_description").has_value());
  EXPECT_EQ(environment->metadata().task, "");
  EXPECT_EQ(environment->attribute("length").value().dump(), "4");
  EXPECT_EQ(environment->attribute("_max_episode_steps").value().dump(), "300");  // of the wrapper around it
  environment->set_attribute("length", 1);
  environment->set_attribute("task_description", "stop at once");
  environment->reset(0);
  EXPECT_EQ(environment->metadata().task, "stop at once");
  EXPECT_TRUE(environment->step(kAction).terminated);
}

TEST_F(GymEnvironments, ShareAProcessOrHaveOneEach) {
  for (const bool one_process_each : {false, true}) {
    VectorEnv environments = vector_env(test_options("Counter-v0"), 3, one_process_each);
    environments.reset(std::vector<uint64_t>{7, 8, 9});
    const VectorStep step = environments.step(std::vector<double>{0, 0, 1, 1, 2, 2});
    std::set<int64_t> processes, made;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(step.observations[i].at("agent_pos").float64()[0], static_cast<double>(i));
      processes.insert(info_number(step.infos[i], "pid"));
      made.insert(info_number(step.infos[i], "made"));
    }
    EXPECT_THAT(processes, SizeIs(one_process_each ? 3 : 1));
    if (one_process_each) {
      EXPECT_THAT(made, ElementsAre(1)) << "state outside of the environments is each one's own";
    } else {
      EXPECT_THAT(made, ElementsAre(1, 2, 3));
    }
  }
}

TEST_F(GymEnvironments, StartAnewWithinTheStepThatEndsAnEpisode) {
  VectorEnv environments = vector_env(test_options("Counter-v0", {{"length", 2}}), 2, true);
  environments.reset(std::vector<uint64_t>{1, 2}, {.new_rollout = true});
  const std::vector<double> actions(4, 1.0);
  EXPECT_FALSE(environments.step(actions).finals[0].has_value());
  const VectorStep step = environments.step(actions);
  ASSERT_TRUE(step.finals[0] && step.finals[1]);
  EXPECT_EQ(step.finals[0]->observation.at("agent_pos").float64()[0], 2.0);
  EXPECT_THAT(step.successes(), ElementsAre(true, true));
  EXPECT_THAT(step.rewards, testing::Each(static_cast<double>(0.1F * 2)));
  EXPECT_EQ(step.observations[0].at("agent_pos").float64()[0], 0.0);
  EXPECT_EQ(step.observations[0].at("agent_pos").float64()[1], 2.0) << "the second reset";
  EXPECT_FALSE(step.infos[0].values.contains("seed"));
  EXPECT_EQ(step.infos[0].values.at("has_options"), InfoValue(false));
}

TEST_F(GymEnvironments, RefuseToStepOrRenderBeforeTheFirstReset) {
  const auto environment = make_test_environment("Counter-v0");
  EXPECT_THROW(environment->step(kAction), std::logic_error);
  EXPECT_THROW(environment->render(), std::logic_error);
}

}  // namespace
}  // namespace lerobot::env
