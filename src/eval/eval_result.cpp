#include "lerobot/eval/eval_result.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lerobot/core/log.hpp"

namespace lerobot::eval {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Mean of what is no NaN.
class Mean {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? kNaN : sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0.0;
  int64_t count_ = 0;
};

Aggregate aggregate(const std::vector<const TaskResult*>& tasks) {
  Aggregate result;
  Mean sum_reward, max_reward, success;
  for (const TaskResult* task : tasks) {
    for (const Episode& episode : task->episodes) {
      sum_reward.add(episode.sum_reward);
      max_reward.add(episode.max_reward);
      success.add(episode.success ? 1.0 : 0.0);
    }
    result.n_episodes += static_cast<int64_t>(task->episodes.size());
    result.video_paths.insert(result.video_paths.end(), task->video_paths.begin(), task->video_paths.end());
  }
  result.avg_sum_reward = sum_reward.value();
  result.avg_max_reward = max_reward.value();
  result.pc_success = success.value() * 100;
  return result;
}

// One list of a value of each episode.
template <typename Value>
Json list(const std::vector<Episode>& episodes, Value Episode::*member) {
  Json values = Json::array();
  for (const Episode& episode : episodes) values.push_back(episode.*member);
  return values;
}

Json seeds(const std::vector<Episode>& episodes) {
  Json values = Json::array();
  for (const Episode& episode : episodes) values.push_back(episode.seed ? Json(*episode.seed) : Json(nullptr));
  return values;
}

Json task_json(const TaskResult& task) {
  Json metrics;
  metrics["sum_rewards"] = list(task.episodes, &Episode::sum_reward);
  metrics["max_rewards"] = list(task.episodes, &Episode::max_reward);
  metrics["successes"] = list(task.episodes, &Episode::success);
  metrics["video_paths"] = task.video_paths;
  metrics["predicted_video_paths"] = Json::array();  // of world models, which are not here
  metrics["seeds"] = seeds(task.episodes);
  metrics["lengths"] = list(task.episodes, &Episode::length);
  Json entry;
  entry["task_group"] = task.group;
  entry["task_id"] = task.id;
  entry["metrics"] = std::move(metrics);
  return entry;
}

struct Timing {
  double eval_s;
  double eval_ep_s;
};

Json aggregate_json(const Aggregate& aggregate, const std::optional<Timing>& timing = {}) {
  Json entry;
  entry["avg_sum_reward"] = aggregate.avg_sum_reward;
  entry["avg_max_reward"] = aggregate.avg_max_reward;
  entry["pc_success"] = aggregate.pc_success;
  entry["n_episodes"] = aggregate.n_episodes;
  if (timing) {
    entry["eval_s"] = timing->eval_s;
    entry["eval_ep_s"] = timing->eval_ep_s;
  }
  entry["video_paths"] = aggregate.video_paths;
  entry["predicted_video_paths"] = Json::array();
  return entry;
}

}  // namespace

Aggregate EvalResult::overall() const {
  std::vector<const TaskResult*> all;
  for (const TaskResult& task : tasks) all.push_back(&task);
  return aggregate(all);
}

std::vector<std::pair<std::string, Aggregate>> EvalResult::per_group() const {
  std::vector<std::pair<std::string, std::vector<const TaskResult*>>> groups;
  for (const TaskResult& task : tasks) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& entry) { return entry.first == task.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {task.group, {}});
    group->second.push_back(&task);
  }
  std::vector<std::pair<std::string, Aggregate>> result;
  for (const auto& [name, members] : groups) result.emplace_back(name, aggregate(members));
  return result;
}

Json eval_info(const EvalResult& result, const Json& provenance) {
  Json info;
  info["per_task"] = Json::array();
  for (const TaskResult& task : result.tasks) info["per_task"].push_back(task_json(task));
  info["per_group"] = Json::object();
  for (const auto& [name, group] : result.per_group()) info["per_group"][name] = aggregate_json(group);
  const Aggregate overall = result.overall();
  const double seconds_each = result.eval_s / static_cast<double>(std::max<int64_t>(1, overall.n_episodes));
  info["overall"] = aggregate_json(overall, Timing{result.eval_s, seconds_each});
  info["lerobot_cpp"] = provenance;
  info["lerobot_cpp"]["complete"] = result.is_complete;
  return info;
}

void log_results(const EvalResult& result) {
  const Json info = eval_info(result);
  log::info("Overall Aggregated Metrics:");
  log::info(python_repr(info["overall"]));
  for (const char* part : {"per_task", "per_group", "overall"}) {
    log::info(std::string("\nAggregated Metrics for ") + part + ":");
    log::info(python_repr(info[part]));
  }
}

}  // namespace lerobot::eval
