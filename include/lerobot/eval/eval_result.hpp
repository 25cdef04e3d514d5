// What an evaluation found, and eval_info.json, which tells it in LeRobot's shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lerobot/core/json.hpp"

namespace lerobot::eval {

struct Episode {
  double sum_reward = 0.0;
  double max_reward = 0.0;
  bool success = false;
  std::optional<uint64_t> seed;  // of the environment's reset
  int64_t length = 0;            // steps, the last one included
};

// A task of a suite: {"pusht", 0}. Episodes in the order of their seeds.
struct TaskResult {
  std::string group;
  int64_t id = 0;
  std::vector<Episode> episodes;
  std::vector<std::string> video_paths;  // of the first episodes; finished files only
};

// Means over episodes, NaN left out; NaN when nothing is left.
struct Aggregate {
  double avg_sum_reward = 0.0;
  double avg_max_reward = 0.0;
  double pc_success = 0.0;  // percent
  int64_t n_episodes = 0;
  std::vector<std::string> video_paths;
};

struct EvalResult {
  std::vector<TaskResult> tasks;  // in the order they were given
  double eval_s = 0.0;            // wall time of the whole evaluation
  bool is_complete = false;       // all episodes of all tasks are here

  Aggregate overall() const;
  std::vector<std::pair<std::string, Aggregate>> per_group() const;  // in the order of first appearance
};

// eval_info.json: LeRobot's "per_task", "per_group" and "overall", key for key in its order. Ours stand behind: in a
// task's metrics "seeds" and "lengths", and at the end "lerobot_cpp": `provenance` (an object) and "complete".
Json eval_info(const EvalResult& result, const Json& provenance = Json::object());

// LeRobot's text of the overall numbers, the groups and the tasks on the log, as its program ends with it.
void log_results(const EvalResult& result);

// Python's repr() of a value from JSON: {'pc_success': 42.857142857142854, 'video_paths': [], 'seed': None}.
std::string python_repr(const Json& value);

}  // namespace lerobot::eval
