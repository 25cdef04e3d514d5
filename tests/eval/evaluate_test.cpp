#include "lerobot/eval/evaluate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "eval/golden_evaluation.hpp"
#include "eval/scripted_environment.hpp"
#include "eval/video_file.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "support/fault_injection_file_system.hpp"
#include "support/temporary_directory.hpp"
#include "support/torch.hpp"

namespace lerobot::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Script kShort = {{.reward = 1.0}, {.reward = 2.0, .is_success = true, .terminated = true}};
const Script kLong = {{.reward = 0.5}, {}, {}, {.terminated = true}};

class EvaluateTest : public testing::Test {
 protected:
  std::filesystem::path out() const { return folder.path() / "out"; }
  EvalOptions options(int64_t n_episodes) const {
    return {.n_episodes = n_episodes,
            .start_seed = 0,
            .videos_dir = out() / "videos",
            .output_dir = out(),
            .show_progress = false};
  }
  static std::vector<EvalTask> one_task(const std::string& group, std::shared_ptr<env::VectorEnv> environments) {
    return {{group, 0, [environments] { return environments; }}};
  }
  Json info() const { return read_json(out() / "eval_info.json"); }
  std::vector<Json> records() const {
    std::vector<Json> result;
    std::ifstream file(out() / "episodes.jsonl");
    for (std::string line; std::getline(file, line);) result.push_back(parse_json(line, "episodes.jsonl"));
    return result;
  }

  testing_support::TemporaryDirectory folder;
};

TEST_F(EvaluateTest, ReplaysLeRobotsEvaluationOfPushT) {
  RecordedActor actor;
  EvalOptions without_videos = options(7);
  without_videos.videos_dir.reset();
  const EvalResult result =
      evaluate(local_file_system(), one_task("pusht", golden_environments()), actor, without_videos);
  const Json& golden = golden_evaluation();
  ASSERT_EQ(result.tasks.size(), 1U);
  const auto& episodes = result.tasks[0].episodes;
  ASSERT_EQ(episodes.size(), 7U);
  for (size_t i = 0; i < episodes.size(); ++i) {
    const Json& expected = golden["per_episode"][i];
    EXPECT_NEAR(episodes[i].sum_reward, expected["sum_reward"].get<double>(), 1e-9) << i;
    EXPECT_NEAR(episodes[i].max_reward, expected["max_reward"].get<double>(), 1e-9) << i;
    EXPECT_EQ(episodes[i].success, expected["success"].get<bool>()) << i;
    EXPECT_EQ(episodes[i].seed, expected["seed"].get<uint64_t>()) << i;
  }
  const Aggregate overall = result.overall();
  EXPECT_NEAR(overall.avg_sum_reward, golden["overall"]["avg_sum_reward"].get<double>(), 1e-9);
  EXPECT_NEAR(overall.avg_max_reward, golden["overall"]["avg_max_reward"].get<double>(), 1e-9);
  EXPECT_NEAR(overall.pc_success, golden["overall"]["pc_success"].get<double>(), 1e-9);
  EXPECT_EQ(actor.first_observations[0].at("observation.state").sizes(), (std::vector<int64_t>{3, 2}));
  EXPECT_TRUE(result.is_complete);
}

TEST_F(EvaluateTest, FilmsTheEpisodesThatCountAsLeRobotDoes) {
  RecordedActor actor;
  const EvalResult result = evaluate(local_file_system(), one_task("pusht", golden_environments()), actor, options(9));
  const std::vector<std::string>& paths = result.tasks[0].video_paths;
  ASSERT_EQ(paths.size(), 9U);
  for (size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(paths[i], (out() / "videos" / "pusht_0" / fmt::format("eval_episode_{}.mp4", i)).string());
    EXPECT_EQ(count_frames(paths[i], 10, 384, 384), golden_evaluation()["video_frames"][i].get<int64_t>()) << i;
  }
}

TEST_F(EvaluateTest, FilmsNoEpisodeBeyondThoseAskedFor) {
  const auto environments = scripted_environments({kShort, kLong, kLong});
  CountingActor actor(3);
  const EvalResult result = evaluate(local_file_system(), one_task("scripted", environments), actor, options(4));
  EXPECT_EQ(result.tasks[0].video_paths.size(), 4U);
  EXPECT_FALSE(std::filesystem::exists(out() / "videos" / "scripted_0" / "eval_episode_4.mp4"));
  EXPECT_EQ(scripted(*environments, 2).renders, 4);  // of the first rollout alone: the reset and steps 0, 1, 2
}

TEST_F(EvaluateTest, FilmsNoMoreThanTheLimit) {
  const auto environments = scripted_environments({kShort, kLong});
  CountingActor actor(2);
  EvalOptions limited = options(6);
  limited.max_episodes_rendered = 3;
  const EvalResult result = evaluate(local_file_system(), one_task("scripted", environments), actor, limited);
  ASSERT_EQ(result.tasks[0].video_paths.size(), 3U);
  EXPECT_EQ(count_frames(result.tasks[0].video_paths[0], 10, 16, 16), 2);
  EXPECT_EQ(count_frames(result.tasks[0].video_paths[1], 10, 16, 16), 4);
}

TEST_F(EvaluateTest, ShowsTheStateAfterTheResetFirstAndNeverTheNextEpisode) {
  CountingActor actor(2);
  const auto environments = scripted_environments({kShort, kLong});
  const EvalResult result = evaluate(local_file_system(), one_task("scripted", environments), actor, options(2));
  const std::string& path = result.tasks[0].video_paths.at(1);
  for (const int64_t index : {0, 1, 2, 3}) {
    EXPECT_NEAR(mean_colour(path, index, 10, 16, 16)[0], 20.0 * static_cast<double>(index), 4) << index;
  }
}

TEST_F(EvaluateTest, CountsOnwardFromTheStartSeed) {
  const auto environments = scripted_environments({kShort, kShort});
  CountingActor actor(2);
  EvalOptions seeded = options(3);
  seeded.start_seed = 1000;
  const EvalResult result = evaluate(local_file_system(), one_task("scripted", environments), actor, seeded);
  ASSERT_EQ(result.tasks[0].episodes.size(), 3U);
  EXPECT_EQ(result.tasks[0].episodes[2].seed, 1002U);
  const auto& resets = scripted(*environments, 1).resets;
  EXPECT_EQ(resets.front(), (ScriptedEnvironment::Reset{1001, true}));
  EXPECT_NE(std::find(resets.begin(), resets.end(), ScriptedEnvironment::Reset{1003, true}), resets.end());
}

TEST_F(EvaluateTest, CanLeaveTheStepAfterAnEpisodeOut) {
  const auto score = [&](ScoreRule rule) {
    CountingActor actor(2);
    EvalOptions ruled = options(2);
    ruled.score_rule = rule;
    return evaluate(local_file_system(), one_task("scripted", scripted_environments({kShort, kLong})), actor, ruled)
        .tasks[0]
        .episodes[0]
        .sum_reward;
  };
  EXPECT_EQ(score(ScoreRule::kLeRobot), 4.0);
  EXPECT_EQ(score(ScoreRule::kEpisodeOnly), 3.0);
}

TEST_F(EvaluateTest, WritesASummaryAndALineForEachEpisode) {
  CountingActor actor(2);
  EvalOptions described = options(3);
  described.provenance = {{"device", "cpu"}};
  const EvalResult result =
      evaluate(local_file_system(), one_task("scripted", scripted_environments({kShort, kLong})), actor, described);
  Json expected = eval_info(result, described.provenance);
  EXPECT_EQ(info(), expected);
  EXPECT_EQ(info()["lerobot_cpp"], (Json{{"device", "cpu"}, {"complete", true}}));
  ASSERT_EQ(records().size(), 3U);
  EXPECT_EQ(
      to_python_json(records()[0], {.indent = -1}),
      R"({"task_group": "scripted", "task_id": 0, "episode": 0, "seed": 0, "sum_reward": 4.0, "max_reward": 2.0, )"
      R"("success": true, "length": 2})");
  EXPECT_EQ(records()[1]["episode"], 1);
  EXPECT_FALSE(std::filesystem::exists(out() / ".eval_info.json.partial"));
}

TEST_F(EvaluateTest, RunsTheTasksOneAfterTheOther) {
  CountingActor actor(1);
  std::weak_ptr<env::VectorEnv> first;
  const std::vector<EvalTask> tasks{{"easy", 0,
                                     [&] {
                                       const auto environments = scripted_environments({kShort});
                                       first = environments;
                                       return environments;
                                     }},
                                    {"easy", 1,
                                     [&] {
                                       EXPECT_TRUE(first.expired());  // closed before the next one opens
                                       return scripted_environments({kLong});
                                     }},
                                    {"hard", 0, [] { return scripted_environments({kLong}); }}};
  const EvalResult result = evaluate(local_file_system(), tasks, actor, options(2));
  ASSERT_EQ(result.tasks.size(), 3U);
  EXPECT_EQ(result.per_group()[0].second.n_episodes, 4);
  EXPECT_EQ(result.overall().n_episodes, 6);
  EXPECT_NEAR(result.overall().pc_success, 100.0 / 3, 1e-9);
  EXPECT_TRUE(std::filesystem::exists(out() / "videos" / "easy_1" / "eval_episode_1.mp4"));
}

TEST_F(EvaluateTest, KeepsWhatWasFinishedWhenItIsStopped) {
  CountingActor actor(2);
  EvalOptions stopped = options(6);
  int64_t checks = 0;
  stopped.check = [&] {
    if (++checks == 8) throw std::runtime_error("asked to stop");  // in the second rollout, of four steps each
  };
  const auto environments = scripted_environments({kShort, kLong});
  EXPECT_THROW(evaluate(local_file_system(), one_task("scripted", environments), actor, stopped), std::runtime_error);
  EXPECT_EQ(records().size(), 3U);  // two of the first rollout, and the short one of the second
  EXPECT_EQ(info()["overall"]["n_episodes"], 2);
  EXPECT_EQ(info()["lerobot_cpp"]["complete"], false);
  EXPECT_TRUE(std::filesystem::exists(out() / "videos" / "scripted_0" / "eval_episode_2.mp4"));
  EXPECT_FALSE(std::filesystem::exists(out() / "videos" / "scripted_0" / "eval_episode_3.mp4"));
}

TEST_F(EvaluateTest, BeginsANewListOfEpisodes) {
  for (int i = 0; i < 2; ++i) {
    CountingActor actor(1);
    evaluate(local_file_system(), one_task("scripted", scripted_environments({kShort})), actor, options(2));
  }
  EXPECT_EQ(records().size(), 2U);
}

TEST_F(EvaluateTest, WritesNothingWithoutFolders) {
  CountingActor actor(1);
  const EvalResult result = evaluate(local_file_system(), one_task("scripted", scripted_environments({kShort})), actor,
                                     {.n_episodes = 2, .show_progress = false});
  EXPECT_EQ(result.overall().n_episodes, 2);
  EXPECT_EQ(result.tasks[0].episodes[0].seed, std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(EvaluateTest, GoesOnWithoutAVideoThatCannotBeWritten) {
  local_file_system().create_directories(out());
  local_file_system().write_file(out() / "videos", "a file where the folder should be");
  CountingActor actor(1);
  std::string log;
  log::set_line_writer([&](std::string_view line) { log += line; });
  const EvalResult result =
      evaluate(local_file_system(), one_task("scripted", scripted_environments({kShort})), actor, options(1));
  log::set_line_writer({});
  EXPECT_TRUE(result.tasks[0].video_paths.empty());
  EXPECT_EQ(result.overall().n_episodes, 1);
  EXPECT_THAT(log, testing::AllOf(HasSubstr("ERROR"), HasSubstr("eval_episode_0.mp4")));
}

TEST_F(EvaluateTest, WarnsOnceOfAnOddSize) {
  CountingActor actor(2);
  std::vector<std::string> log;
  log::set_line_writer([&](std::string_view line) { log.emplace_back(line); });
  evaluate(local_file_system(), one_task("scripted", scripted_environments({kShort, kLong}, 10, 17)), actor,
           options(4));
  log::set_line_writer({});
  EXPECT_THAT(log, ElementsAre(HasSubstr("17 x 17 pixels are cut to 16 x 16")));
}

TEST_F(EvaluateTest, WritesPathsAsPythonWould) {
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  CountingActor actor(1);
  EvalOptions relative = options(1);
  relative.videos_dir = "./out//videos/";
  const EvalResult result =
      evaluate(local_file_system(), one_task("scripted", scripted_environments({kShort})), actor, relative);
  std::filesystem::current_path(here);
  EXPECT_THAT(result.tasks[0].video_paths, ElementsAre("out/videos/scripted_0/eval_episode_0.mp4"));
}

TEST_F(EvaluateTest, NeverLeavesHalfASummary) {
  for (int64_t operation = 0;; ++operation) {
    ASSERT_LT(operation, 60);
    CountingActor actor(1);
    testing_support::FaultInjectionFileSystem disk;
    disk.inject(testing_support::Fault::kError, operation, std::errc::no_space_on_device);
    EvalOptions without_videos = options(2);
    without_videos.videos_dir.reset();
    try {
      evaluate(disk, one_task("scripted", scripted_environments({kShort})), actor, without_videos);
      break;
    } catch (const FileSystemError&) {
      if (std::filesystem::exists(out() / "eval_info.json")) {
        EXPECT_TRUE(info().contains("overall")) << operation;
      }
    }
  }
  EXPECT_EQ(info()["overall"]["n_episodes"], 2);
}

TEST_F(EvaluateTest, RefusesToEvaluateNothing) {
  CountingActor actor(1);
  EXPECT_THROW(evaluate(local_file_system(), one_task("scripted", scripted_environments({kShort})), actor, options(0)),
               UsageError);
  EXPECT_THROW(evaluate(local_file_system(), {}, actor, options(1)), UsageError);
}

}  // namespace
}  // namespace lerobot::eval
