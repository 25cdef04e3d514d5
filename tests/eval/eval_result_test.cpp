#include "lerobot/eval/eval_result.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lerobot::eval {
namespace {

EvalResult two_tasks() {
  EvalResult result;
  result.tasks.push_back(
      {.group = "reach",
       .id = 0,
       .episodes = {{.sum_reward = 1.5, .max_reward = 1.0, .success = true, .seed = 7, .length = 3},
                    {.sum_reward = -0.5, .max_reward = 0.0, .success = false, .seed = 8, .length = 10}},
       .video_paths = {"out/videos/reach_0/eval_episode_0.mp4"}});
  result.tasks.push_back(
      {.group = "push", .id = 4, .episodes = {{.sum_reward = 2.0, .max_reward = 2.0, .length = 1}}, .video_paths = {}});
  result.eval_s = 1.5;
  return result;
}

TEST(EvalInfo, HasLeRobotsShapeWithOursBehind) {
  EvalResult result = two_tasks();
  result.is_complete = true;
  EXPECT_EQ(to_python_json(eval_info(result, {{"device", "cpu"}}), {.indent = 2}), R"({
  "per_task": [
    {
      "task_group": "reach",
      "task_id": 0,
      "metrics": {
        "sum_rewards": [
          1.5,
          -0.5
        ],
        "max_rewards": [
          1.0,
          0.0
        ],
        "successes": [
          true,
          false
        ],
        "video_paths": [
          "out/videos/reach_0/eval_episode_0.mp4"
        ],
        "predicted_video_paths": [],
        "seeds": [
          7,
          8
        ],
        "lengths": [
          3,
          10
        ]
      }
    },
    {
      "task_group": "push",
      "task_id": 4,
      "metrics": {
        "sum_rewards": [
          2.0
        ],
        "max_rewards": [
          2.0
        ],
        "successes": [
          false
        ],
        "video_paths": [],
        "predicted_video_paths": [],
        "seeds": [
          null
        ],
        "lengths": [
          1
        ]
      }
    }
  ],
  "per_group": {
    "reach": {
      "avg_sum_reward": 0.5,
      "avg_max_reward": 0.5,
      "pc_success": 50.0,
      "n_episodes": 2,
      "video_paths": [
        "out/videos/reach_0/eval_episode_0.mp4"
      ],
      "predicted_video_paths": []
    },
    "push": {
      "avg_sum_reward": 2.0,
      "avg_max_reward": 2.0,
      "pc_success": 0.0,
      "n_episodes": 1,
      "video_paths": [],
      "predicted_video_paths": []
    }
  },
  "overall": {
    "avg_sum_reward": 1.0,
    "avg_max_reward": 1.0,
    "pc_success": 33.33333333333333,
    "n_episodes": 3,
    "eval_s": 1.5,
    "eval_ep_s": 0.5,
    "video_paths": [
      "out/videos/reach_0/eval_episode_0.mp4"
    ],
    "predicted_video_paths": []
  },
  "lerobot_cpp": {
    "device": "cpu",
    "complete": true
  }
})");
}

TEST(EvalInfo, WritesNaNWhereThereIsNoEpisode) {
  const std::string text = to_python_json(eval_info(EvalResult{}), {.indent = -1});
  EXPECT_NE(
      text.find(R"("overall": {"avg_sum_reward": NaN, "avg_max_reward": NaN, "pc_success": NaN, "n_episodes": 0)"),
      std::string::npos)
      << text;
}

TEST(EvalResult, LeavesNaNRewardsOutOfTheMean) {
  EvalResult result = two_tasks();
  result.tasks[0].episodes[1].sum_reward = std::nan("");
  EXPECT_EQ(result.overall().avg_sum_reward, 1.75);
  EXPECT_EQ(result.overall().n_episodes, 3);
}

TEST(EvalResult, JoinsTheTasksOfAGroup) {
  EvalResult result = two_tasks();
  result.tasks[1].group = "reach";
  const auto groups = result.per_group();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].first, "reach");
  EXPECT_EQ(groups[0].second.n_episodes, 3);
}

TEST(PythonRepr, ReadsAsPythonPrintsIt) {
  Json value = {{"a", nullptr}, {"b", true}, {"c", {1, 2.0, std::nan("")}}, {"d", "it's"}, {"e", "\"it's\"\n"}};
  EXPECT_EQ(python_repr(value), R"({'a': None, 'b': True, 'c': [1, 2.0, nan], 'd': "it's", 'e': '"it\'s"\n'})");
  EXPECT_EQ(python_repr(Json::array()), "[]");
}

}  // namespace
}  // namespace lerobot::eval
