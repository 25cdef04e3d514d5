// What --config_path leads to, and what --resume makes of it.
#include <gmock/gmock.h>

#include "config_test_support.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ResumeTest : public CommandLineTest {
 protected:
  static constexpr const char* kStep = "run/checkpoints/000010";

  static void make_checkpoint(const fs::path& step) {
    fs::create_directories(step / "pretrained_model");
    fs::create_directories(step / "training_state");
    fs::copy("CFG.json", step / "pretrained_model" / "train_config.json");
  }
  static void make_run() {
    make_checkpoint("run/checkpoints/000005");
    make_checkpoint(kStep);
    fs::create_directory_symlink("000010", "run/checkpoints/last");
  }

  config::ParsedCommand resume(const std::string& config_path, const Args& more = {}) {
    return parse(with({"--config_path=" + config_path, "--resume=true"}, more));
  }
  // Every way to say `step`.
  void expect_resumes(const Args& config_paths, const std::string& step) {
    for (const std::string& path : config_paths) {
      SCOPED_TRACE(path);
      ASSERT_EQ(error_of({"--config_path=" + path, "--resume=true"}), "");
      const auto command = resume(path);
      EXPECT_EQ(command.config->policy->pretrained_path, step + "/pretrained_model");
      EXPECT_EQ(command.config->checkpoint_path, step);
      EXPECT_EQ(command.config->output_dir, "outputs/a");
    }
  }
};

TEST_F(ResumeTest, TakesEveryFolderFromTheFileUpToTheRun) {
  make_run();
  expect_resumes({"run/checkpoints/last/pretrained_model/train_config.json", "run/checkpoints/last/pretrained_model",
                  "run/checkpoints/last/pretrained_model/", "run/checkpoints/last", "run/checkpoints/last/",
                  "run/checkpoints", "run", "./run/"},
                 "run/checkpoints/last");
  expect_resumes({"run/checkpoints/000005/pretrained_model", "run/checkpoints/000005"}, "run/checkpoints/000005");
  // Without --resume too.
  EXPECT_EQ(parse({"--config_path=run"}).config_path, "run/checkpoints/last/pretrained_model/train_config.json");
}

TEST_F(ResumeTest, KeepsWhatWasRecordedButForWhatWasTyped) {
  make_run();
  EXPECT_EQ(resume("run", {"--optimizer.lr=0.5"}).config->optimizer->lr, 0.5);  // no preset over what was recorded
}

TEST_F(ResumeTest, TakesAPathRelativeToTheModelsFolder) {
  make_run();
  fs::current_path(fs::path(kStep) / "pretrained_model");
  EXPECT_EQ(resume("train_config.json").config->checkpoint_path, "..");
  fs::current_path(folder_);
}

TEST_F(ResumeTest, FollowsALastThatIsAFile) {
  make_run();
  fs::remove("run/checkpoints/last");
  write("run/checkpoints/last", "000005\n");
  expect_resumes({"run/checkpoints/last/pretrained_model/train_config.json", "run/checkpoints/last/pretrained_model",
                  "run/checkpoints/last", "run/checkpoints", "run"},
                 "run/checkpoints/000005");
}

TEST_F(ResumeTest, FindsTheCheckpointThatACrashLeftSetAside) {
  make_run();
  fs::rename(kStep, "run/checkpoints/.000010.old-77");
  expect_resumes({"run/checkpoints/last/pretrained_model/train_config.json", "run/checkpoints/last",
                  "run/checkpoints/000010/pretrained_model", "run"},
                 "run/checkpoints/.000010.old-77");
}

TEST_F(ResumeTest, TakesTheHighestStepOfADownloadedRepository) {
  make_checkpoint("hub/checkpoints/000009");
  make_checkpoint("hub/checkpoints/1000000");
  make_checkpoint("hub/checkpoints/000010");
  expect_resumes({"hub", "hub/checkpoints"}, "hub/checkpoints/1000000");
  // A repository that was published at the end of its run has a configuration in its root, which counts.
  fs::copy("CFG.json", "hub/train_config.json");
  EXPECT_EQ(resume("hub").config_path, "hub/train_config.json");
  expect_resumes({"hub", "hub/train_config.json"}, "hub/checkpoints/1000000");
}

TEST_F(ResumeTest, ListsWhatItLookedFor) {
  fs::create_directory("empty");
  EXPECT_THAT(error_of({"--config_path=empty"}),
              AllOf(HasSubstr("--config_path: there is no train_config.json for 'empty'"),
                    HasSubstr("pretrained_model/train_config.json"), HasSubstr("last/pretrained_model"),
                    HasSubstr("<step>/pretrained_model"), HasSubstr("below checkpoints"), Not(HasSubstr("leads to"))));
  EXPECT_THAT(error_of({"--config_path=absent/folder/x"}), HasSubstr("'absent/folder/x' does not exist"));
}

TEST_F(ResumeTest, ALastThatLeadsNowhereIsNoReasonToTakeAnotherCheckpoint) {
  make_run();
  fs::remove_all(kStep);
  EXPECT_THAT(error_of({"--config_path=run", "--resume=true"}),
              HasSubstr("run/checkpoints/last leads to run/checkpoints/000010, which does not exist"));
}

TEST_F(ResumeTest, WarnsWhenTheRunGoesOnInAnotherFolder) {
  make_run();  // CFG.json records output_dir outputs/a
  const std::string run = fs::canonical("run").string();
  EXPECT_THAT(resume("run").warnings,
              Contains(AllOf(HasSubstr("--output_dir: "), HasSubstr("'outputs/a'"), HasSubstr("run/checkpoints/last"),
                             HasSubstr("--output_dir=" + run))));
  EXPECT_THAT(resume("run", {"--output_dir=run"}).warnings, IsEmpty());
  EXPECT_THAT(resume("run", {"--output_dir=elsewhere"}).warnings, IsEmpty());  // as asked for
  fs::create_directory("outputs");
  fs::rename("run", "outputs/a");
  EXPECT_THAT(resume("outputs/a").warnings, IsEmpty());
}

}  // namespace
}  // namespace lerobot
