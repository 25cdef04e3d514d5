// lerobot-eval, and evaluation in the middle of a training run, as processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/lerobot_train.hpp"
#include "support/read_file.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::testing_support {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;
using Flags = std::vector<std::string>;

int64_t lines_of(const fs::path& path) {
  const std::string text = read_file(path);
  return std::count(text.begin(), text.end(), '\n');
}

int64_t files_in(const fs::path& folder) {
  return fs::is_directory(folder) ? std::distance(fs::directory_iterator(folder), {}) : 0;
}

Flags operator+(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

const Flags kPusht = {"--env.type=pusht", "--env.obs_type=environment_state_agent_pos", "--env.episode_length=20"};

class Evaluation : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return directory_.path() / name; }

  // The checkpoint of a very short run.
  std::string policy() {
    const fs::path run = path("run");
    if (!fs::exists(run)) {
      const ProcessResult trained = lerobot_train(small_keypoint_run(run));
      EXPECT_EQ(trained.exit_code, 0) << trained.err;
    }
    return "--policy.path=" + (run / "checkpoints" / "last" / "pretrained_model").string();
  }

  Flags command(const std::string& output_dir, const Flags& more) {
    return Flags{lerobot_eval_program().string(), policy(), "--output_dir=" + path(output_dir).string(),
                 "--seed=5000"} +
           kPusht + more;
  }

  TemporaryDirectory directory_;
};

TEST_F(Evaluation, WritesResultsAndVideosOfTheEpisodesThatWereAskedFor) {
  const ProcessResult result = run_process(command("out", {"--eval.n_episodes=3", "--eval.batch_size=2"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("Overall Aggregated Metrics:"), HasSubstr("End of eval")));
  const std::string info = read_file(path("out") / "eval_info.json");
  EXPECT_THAT(info, AllOf(HasSubstr("\"n_episodes\": 3"), HasSubstr("\"complete\": true"), HasSubstr("5002")));
  EXPECT_EQ(lines_of(path("out") / "episodes.jsonl"), 3);
  EXPECT_EQ(files_in(path("out") / "videos" / "pusht_0"), 3);
}

TEST_F(Evaluation, GivesTheSameEpisodesHoweverTheEnvironmentsRun) {
  const auto episodes = [&](const std::string& name, const Flags& more) {
    const ProcessResult result = run_process(command(name, more + Flags{"--eval.n_episodes=4"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_file(path(name) / "episodes.jsonl");
  };
  const std::string side_by_side = episodes("async", {"--eval.batch_size=2", "--eval.use_async_envs=true"});
  EXPECT_EQ(side_by_side, episodes("sync", {"--eval.batch_size=2", "--eval.use_async_envs=false"}));
}

TEST_F(Evaluation, KeepsTheFinishedEpisodesWhenItIsStopped) {
  Process process(command("out", {"--eval.n_episodes=100000", "--eval.batch_size=1"}));
  while (!fs::exists(path("out") / "episodes.jsonl") || lines_of(path("out") / "episodes.jsonl") < 2) {
    ASSERT_EQ(process.has_ended(), false);
  }
  process.send(SIGTERM);
  const ProcessResult stopped = process.wait();
  EXPECT_EQ(stopped.exit_code, 143) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("the finished ones are in episodes.jsonl"));
  EXPECT_GE(lines_of(path("out") / "episodes.jsonl"), 2);
  EXPECT_THAT(read_file(path("out") / "eval_info.json"), HasSubstr("\"complete\": false"));
}

TEST_F(Evaluation, SaysWhatIsMissingAllAtOnce) {
  const ProcessResult result = run_process(
      {lerobot_eval_program().string(), "--eval.n_episodes=0", "--eval.recording=true", "--trust_remote_code=true"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--env.type: is needed"), HasSubstr("--policy.path: is needed"),
                                HasSubstr("--eval.n_episodes: must be at least 1, got 0"),
                                HasSubstr("--eval.recording: 'true' is not implemented yet"),
                                HasSubstr("--trust_remote_code: 'true' is not implemented yet")));
}

TEST_F(Evaluation, NamesTheInputThatTheEnvironmentDoesNotGive) {
  const ProcessResult result =
      run_process({lerobot_eval_program().string(), policy(), "--env.type=pusht", "--eval.n_episodes=1",
                   R"(--rename_map={"observation.imag": "observation.environment_state"})",
                   "--output_dir=" + path("out").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--rename_map: `observation.imag`"), HasSubstr("`observation.image`?"),
                                HasSubstr("the policy reads `observation.environment_state`")));
}

TEST_F(Evaluation, PrintsHelpOnStdout) {
  const ProcessResult result = run_process({lerobot_eval_program().string(), "--help", "--env.type=pusht"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("--policy.path"), HasSubstr("--eval.n_episodes"), HasSubstr("--env.obs_type")));
}

TEST_F(Evaluation, LeavesNoTraceInTraining) {
  // Dropout and the VAE are on, so that a random number drawn in between would show.
  const Flags random = {"--policy.dropout=0.1", "--policy.use_vae=true", "--ema.enable=true", "--steps=4"};
  const Flags evaluated = kPusht + Flags{"--env_eval_freq=2",        "--eval.n_episodes=3",   "--eval.batch_size=2",
                                         "--dataset.eval_split=0.2", "--max_eval_samples=16", "--eval_steps=2"};
  // The same episodes for both.
  const Flags split = {"--dataset.eval_split=0.2"};
  ASSERT_EQ(lerobot_train(small_keypoint_run(path("plain")) + random + split).exit_code, 0);
  const ProcessResult result = lerobot_train(small_keypoint_run(path("evaluated")) + random + evaluated);
  ASSERT_EQ(result.exit_code, 0) << result.err;

  const fs::path step = fs::path("checkpoints") / "000004";
  for (const char* file : {"pretrained_model/model.safetensors", "pretrained_model_ema/model.safetensors",
                           "training_state/optimizer_state.safetensors", "training_state/rng_state.safetensors"}) {
    EXPECT_TRUE(read_file(path("plain") / step / file) == read_file(path("evaluated") / step / file)) << file;
  }
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("Eval policy at step 2"), HasSubstr("Evaluating the EMA weights"),
                    HasSubstr("step 4: success="), HasSubstr("best so far"), HasSubstr("step 2: eval_loss=")));
  EXPECT_EQ(files_in(path("evaluated") / "eval" / "videos_step_000002" / "pusht_0"), 3);
  EXPECT_THAT(read_file(path("evaluated") / "metrics.jsonl"),
              AllOf(HasSubstr("\"eval/pc_success\": "), HasSubstr("\"eval_loss\": ")));
}

TEST_F(Evaluation, ThatCannotWorkIsRefusedBeforeTheFirstStep) {
  const ProcessResult result =
      lerobot_train(small_keypoint_run(path("out")) + Flags{"--env.type=pusht", "--env_eval_freq=2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("observation.environment_state"), testing::Not(HasSubstr("step:1 "))));
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(Evaluation, RefusesASplitThatLeavesATaskWithoutTraining) {
  const ProcessResult result =
      lerobot_train(small_keypoint_run(path("out")) +
                    Flags{"--dataset.eval_split=0.99", "--dataset.episodes=[0,1]", "--eval_steps=1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("eval_split"));
}

}  // namespace
}  // namespace lerobot::testing_support
