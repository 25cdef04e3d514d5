// Whole runs of lerobot-train, seen from outside: what they print, write, and leave for a resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using testing::Not;
namespace fs = std::filesystem;

int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

class TrainingRun : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return directory_.path() / name; }

  ProcessResult train(const std::string& output_dir, const std::vector<std::string>& more,
                      const ProcessOptions& options = {}) const {
    std::vector<std::string> flags = small_keypoint_run(path(output_dir));
    flags.insert(flags.end(), more.begin(), more.end());
    return lerobot_train(flags, options);
  }

  TemporaryDirectory directory_;
};

TEST_F(TrainingRun, WritesTheTreeThatLeRobotReads) {
  const ProcessResult result = train("out", {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const fs::path step = path("out") / "checkpoints" / "000003";
  for (const char* file :
       {"pretrained_model/config.json", "pretrained_model/model.safetensors", "pretrained_model/train_config.json",
        "pretrained_model/policy_preprocessor.json", "pretrained_model/policy_postprocessor.json",
        "pretrained_model/policy_preprocessor_step_3_normalizer_processor.safetensors",
        "pretrained_model/policy_postprocessor_step_0_unnormalizer_processor.safetensors",
        "training_state/training_step.json", "training_state/rng_state.safetensors",
        "training_state/optimizer_param_groups.json", "training_state/optimizer_state.safetensors"}) {
    EXPECT_TRUE(fs::is_regular_file(step / file)) << file;
  }
  EXPECT_EQ(fs::read_symlink(path("out") / "checkpoints" / "last"), "000003");
}

TEST_F(TrainingRun, LogsOnStderrAloneAndDrawsNoBarIntoAPipe) {
  const ProcessResult result = train("out", {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("step:1 smpl:8 "), HasSubstr("step:3 smpl:24 "), HasSubstr("End of training"),
                                Not(HasSubstr("\r")), Not(HasSubstr("Training:  "))));
}

TEST_F(TrainingRun, KeepsEveryLoggedStepInFullPrecision) {
  const ProcessResult result = train("out", {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string metrics = read_file(path("out") / "metrics.jsonl");
  EXPECT_EQ(count_of(metrics, "\n"), 3);
  EXPECT_EQ(count_of(metrics, "\"loss\": "), 3);
}

TEST_F(TrainingRun, LeavesNothingBehindWhenNothingIsToBeSaved) {
  const ProcessResult result = train("out", {"--steps=0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(TrainingRun, PrintsHelpOnStdout) {
  const ProcessResult result = lerobot_train({"--help"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("--dataset.repo_id"), HasSubstr("--policy.type"), HasSubstr("--steps")));
}

TEST_F(TrainingRun, ListsTheDevicesInsteadOfTraining) {
  const ProcessResult result = lerobot_train({"--list_devices"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("LibTorch "), HasSubstr("cpu")));
}

TEST_F(TrainingRun, IsRepeatedExactlyByTheSameCommand) {
  ASSERT_EQ(train("one", {}).exit_code, 0);
  ASSERT_EQ(train("two", {}).exit_code, 0);
  const fs::path model = fs::path("checkpoints") / "000003" / "pretrained_model" / "model.safetensors";
  EXPECT_TRUE(read_file(path("one") / model) == read_file(path("two") / model));
}

TEST_F(TrainingRun, GivesTheSameWeightsForEveryNumberOfWorkers) {
  ASSERT_EQ(train("none", {"--num_workers=0"}).exit_code, 0);
  ASSERT_EQ(train("three", {"--num_workers=3"}).exit_code, 0);
  const fs::path model = fs::path("checkpoints") / "000003" / "pretrained_model" / "model.safetensors";
  EXPECT_TRUE(read_file(path("none") / model) == read_file(path("three") / model));
}

TEST_F(TrainingRun, AugmentsTheFramesTheSameWayForEveryNumberOfWorkers) {
  const auto weights = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> flags = small_image_run(path(name));
    flags.insert(flags.end(), {"--batch_size=2", "--steps=2"});
    flags.insert(flags.end(), more.begin(), more.end());
    const ProcessResult result = lerobot_train(flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_file(path(name) / "checkpoints" / "000002" / "pretrained_model" / "model.safetensors");
  };
  const std::string augment = "--dataset.image_transforms.enable=true";
  const std::string plain = weights("plain", {});
  const std::string augmented = weights("augmented", {augment});
  EXPECT_TRUE(plain != augmented);
  EXPECT_TRUE(augmented == weights("workers", {augment, "--num_workers=2"}));
}

TEST_F(TrainingRun, TrainsFromVideo) {
  std::vector<std::string> flags = small_image_run(path("out"));
  flags.insert(flags.end(), {"--batch_size=2", "--steps=1", "--num_workers=2"});
  const ProcessResult result = lerobot_train(flags);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::exists(path("out") / "checkpoints" / "000001" / "pretrained_model" / "model.safetensors"));
}

}  // namespace
}  // namespace lerobot::testing_support
