#include "lerobot/eval/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "episode_videos.hpp"
#include "eval_progress.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/eval/rollout.hpp"
#include "result_files.hpp"

namespace lerobot::eval {
namespace {

using Clock = std::chrono::steady_clock;

// Python's text of a path: no "." parts, no doubled or trailing slashes.
std::filesystem::path as_python_writes(const std::filesystem::path& path) {
  std::filesystem::path result;
  for (const auto& part : path) {
    if (part != "." && !part.empty()) result /= part;
  }
  return result.empty() ? "." : result;
}

std::vector<uint64_t> seeds_of_batch(const EvalOptions& options, int64_t first_episode, int64_t batch_size) {
  std::vector<uint64_t> seeds;
  if (!options.start_seed) return seeds;
  for (int64_t i = 0; i < batch_size; ++i)
    seeds.push_back(*options.start_seed + static_cast<uint64_t>(first_episode + i));
  return seeds;
}

class Evaluation {
 public:
  Evaluation(FileSystem& files, Actor& actor, const EvalOptions& options)
      : files_(files),
        actor_(actor),
        options_(options),
        results_(files, options.output_dir),
        progress_(options.show_progress) {}

  void run(const EvalTask& task);
  EvalResult finish();

 private:
  void run_batch(env::VectorEnv& environments, int64_t first_episode, EpisodeVideos& videos);
  void write_info();
  double success_rate() const;
  EpisodeVideos videos_of(const EvalTask& task, double fps) const;

  FileSystem& files_;
  Actor& actor_;
  const EvalOptions& options_;
  ResultFiles results_;
  EvalProgress progress_;
  EvalResult result_;
  Clock::time_point start_ = Clock::now();
};

EpisodeVideos Evaluation::videos_of(const EvalTask& task, double fps) const {
  if (!options_.videos_dir) return {files_, {}, fps, 0};
  const auto folder = as_python_writes(*options_.videos_dir) / fmt::format("{}_{}", task.group, task.id);
  return {files_, folder, fps, options_.max_episodes_rendered};
}

void Evaluation::run(const EvalTask& task) {
  const std::shared_ptr<env::VectorEnv> environments = task.open();
  result_.tasks.push_back({.group = task.group, .id = task.id, .episodes = {}, .video_paths = {}});
  const double render_fps = environments->metadata().render_fps;
  EpisodeVideos videos = videos_of(task, render_fps > 0 ? render_fps : options_.fps);
  const int64_t batch_size = environments->size();
  progress_.begin((options_.n_episodes + batch_size - 1) / batch_size);
  for (int64_t first = 0; first < options_.n_episodes; first += batch_size) {
    run_batch(*environments, first, videos);
    result_.tasks.back().video_paths = videos.finished_paths();
    progress_.end_batch(success_rate());
    write_info();
  }
  result_.tasks.back().video_paths = videos.wait_for_all();
}

void Evaluation::run_batch(env::VectorEnv& environments, int64_t first_episode, EpisodeVideos& videos) {
  TaskResult& task = result_.tasks.back();
  const int64_t wanted = std::min(environments.size(), options_.n_episodes - first_episode);
  const std::vector<uint64_t> seeds = seeds_of_batch(options_, first_episode, environments.size());
  videos.begin_rollout(wanted);

  // Episodes end in any order; those of a batch get their places now and count when the batch is over.
  std::vector<Episode> episodes(static_cast<size_t>(wanted));
  const auto on_episode = [&](int64_t i, const EpisodeScore& score) {
    Episode& episode = episodes[static_cast<size_t>(i)];
    episode = {.sum_reward = score.sum_reward(),
               .max_reward = score.max_reward(),
               .success = score.success(),
               .seed = seeds.empty() ? std::nullopt : std::optional(seeds[static_cast<size_t>(i)]),
               .length = score.length()};
    results_.add_episode(task, first_episode + i, episode);
  };
  rollout(environments, actor_, seeds,
          {.wanted = wanted,
           .score_rule = options_.score_rule,
           .check = options_.check,
           .on_frame = [&](const std::vector<bool>& ended) { videos.capture(environments, ended); },
           .on_episode = on_episode,
           .on_step = [&](const RolloutStep& step) { progress_.step(step); }});
  task.episodes.insert(task.episodes.end(), episodes.begin(), episodes.end());
}

double Evaluation::success_rate() const {
  const std::vector<Episode>& episodes = result_.tasks.back().episodes;
  const auto count = std::count_if(episodes.begin(), episodes.end(), [](const Episode& each) { return each.success; });
  return static_cast<double>(count) / static_cast<double>(episodes.size());
}

void Evaluation::write_info() {
  result_.eval_s = std::chrono::duration<double>(Clock::now() - start_).count();
  results_.write_info(eval_info(result_, options_.provenance));
}

EvalResult Evaluation::finish() {
  result_.is_complete = true;
  write_info();
  return std::move(result_);
}

}  // namespace

EvalResult evaluate(FileSystem& files, std::span<const EvalTask> tasks, Actor& actor, const EvalOptions& options) {
  if (options.n_episodes < 1) {
    throw UsageError(fmt::format("--eval.n_episodes must be at least 1, got {}", options.n_episodes));
  }
  if (tasks.empty()) throw UsageError("there is no task to evaluate on; see --env.type and --env.task");
  Evaluation evaluation(files, actor, options);
  for (const EvalTask& task : tasks) evaluation.run(task);
  return evaluation.finish();
}

}  // namespace lerobot::eval
