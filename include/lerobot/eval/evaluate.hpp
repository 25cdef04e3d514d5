// An evaluation: n_episodes of every task, their videos, and the files that tell of it.
//   <output_dir>/episodes.jsonl       a line for each finished episode, written as it ends
//   <output_dir>/eval_info.json       LeRobot's summary, replaced in one piece after every batch
//   <videos_dir>/<group>_<id>/eval_episode_<i>.mp4
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lerobot/core/file_system.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/env/vector_env.hpp"
#include "lerobot/eval/actor.hpp"
#include "lerobot/eval/episode_score.hpp"
#include "lerobot/eval/eval_result.hpp"

namespace lerobot::eval {

// One task of one suite. `open` is called when its turn comes, and what it gave is let go before the next task's turn:
// make the environments there, or hand out some that live longer.
struct EvalTask {
  std::string group;  // "pusht"
  int64_t id = 0;
  std::function<std::shared_ptr<env::VectorEnv>()> open;
};

struct EvalOptions {
  int64_t n_episodes = 50;             // for each task
  std::optional<uint64_t> start_seed;  // of episode 0; episode i has start_seed + i. Absent: the random streams go on
  ScoreRule score_rule = ScoreRule::kLeRobot;

  // LeRobot's 10 for lerobot-eval and 4 while training; for each task. 0 or no videos_dir: no videos.
  int64_t max_episodes_rendered = 10;
  std::optional<std::filesystem::path> videos_dir;  // <output_dir>/videos; <output_dir>/eval/videos_step_<step>
  std::optional<std::filesystem::path> output_dir;  // absent: no episodes.jsonl and no eval_info.json
  double fps = 30.0;                                // of the videos, where the environment does not say (render_fps 0)

  // What else eval_info.json shall tell under "lerobot_cpp": device, precision, n_action_steps, policy, batch_size, ...
  Json provenance = Json::object();

  // Called before every step of the environments; throw from it to stop (signals::throw_if_stop_requested). What was
  // finished stays on disk.
  std::function<void()> check;

  // Bars on stderr when it is a terminal and SLURM_JOB_ID is not set. False where another metrics::ProgressBar lives:
  // log lines can step aside for one bar only.
  bool show_progress = true;
};

// Runs ceil(n_episodes / B) rollouts of each task, one task after the other. Episodes of the last rollout beyond
// n_episodes are neither counted nor filmed. A video that cannot be written is an error line on the log and missing
// from video_paths; it does not end the evaluation.
//
// Policy mode and random streams are the caller's care: EvaluationScope.
// Throws UsageError (see rollout) and RunError: output_dir cannot be written, an environment failed.
EvalResult evaluate(FileSystem& files, std::span<const EvalTask> tasks, Actor& actor, const EvalOptions& options);

}  // namespace lerobot::eval
