// A run that is broken off and resumed cannot be told from one that never was: weights, moments, average, random
// states, losses and the order of the samples are the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
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

Flags operator+(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

fs::path step_folder(const fs::path& output_dir, int step) {
  std::string name = std::to_string(step);
  name.insert(0, 6 - name.size(), '0');
  return output_dir / "checkpoints" / name;
}

ProcessResult resume(const fs::path& config_path, const Flags& more) {
  return lerobot_train(Flags{"--resume=true", "--config_path=" + config_path.string()} + more);
}

// The files below a checkpoint that say where training stands, relative to it. The configuration names the run.
std::set<fs::path> files_of_state(const fs::path& checkpoint) {
  std::set<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(checkpoint)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name != "train_config.json" && name != "config.json" && name != "lerobot_cpp.json") {
      files.insert(entry.path().lexically_relative(checkpoint));
    }
  }
  return files;
}

void expect_same_state(const fs::path& a, const fs::path& b) {
  const std::set<fs::path> files = files_of_state(a);
  EXPECT_EQ(files, files_of_state(b));
  EXPECT_TRUE(files.contains(fs::path("training_state") / "optimizer_state.safetensors"));
  for (const fs::path& file : files) EXPECT_TRUE(read_file(a / file) == read_file(b / file)) << file;
}

// "loss" of every record after `step`, as text.
std::vector<std::string> losses_after(const fs::path& output_dir, int step) {
  std::ifstream file(output_dir / "metrics.jsonl");
  std::vector<std::string> losses;
  for (std::string line; std::getline(file, line);) {
    const auto value = [&](const std::string& key) {
      const size_t from = line.find("\"" + key + "\": ") + key.size() + 4;
      return line.substr(from, line.find_first_of(",}", from) - from);
    };
    if (std::stoi(value("step")) > step) losses.push_back(value("step") + ": " + value("loss"));
  }
  return losses;
}

struct Case {
  const char* name;
  Flags flags;              // of the whole run
  Flags resume_flags = {};  // of the resumed one
  bool images = false;
  int steps = 7;
  int broken_off = 4;
};

std::ostream& operator<<(std::ostream& out, const Case& test_case) {
  return out << test_case.name;
}

class ExactResume : public testing::TestWithParam<Case> {
 protected:
  fs::path path(const std::string& name) const { return directory_.path() / name; }
  TemporaryDirectory directory_;
};

TEST_P(ExactResume, EqualsTheUninterruptedRun) {
  const Case& test_case = GetParam();
  const fs::path whole = path("whole");
  const Flags base = test_case.images ? small_image_run(whole) + Flags{"--batch_size=2"} : small_keypoint_run(whole);
  const ProcessResult straight = lerobot_train(
      base +
      Flags{"--steps=" + std::to_string(test_case.steps), "--save_freq=" + std::to_string(test_case.broken_off)} +
      test_case.flags);
  ASSERT_EQ(straight.exit_code, 0) << straight.err;

  const fs::path resumed = path("resumed");
  const ProcessResult second = resume(step_folder(whole, test_case.broken_off) / "pretrained_model",
                                      Flags{"--output_dir=" + resumed.string()} + test_case.resume_flags);
  ASSERT_EQ(second.exit_code, 0) << second.err;
  expect_same_state(step_folder(whole, test_case.steps), step_folder(resumed, test_case.steps));
  EXPECT_EQ(losses_after(whole, test_case.broken_off), losses_after(resumed, 0));
  EXPECT_EQ(losses_after(resumed, 0).size(), test_case.steps - test_case.broken_off);
}

const Flags kRandom = {"--policy.dropout=0.1", "--policy.use_vae=true"};
const Flags kAccumulation = {"--accelerator.gradient_accumulation.steps=3"};
const Flags kEma = {"--ema.enable=true"};
const Flags kBf16 = {"--accelerator.mixed_precision=bf16"};
const Flags kSchedule = {
    "--use_policy_training_preset=false", "--optimizer.type=adamw",        "--scheduler.type=cosine_decay_with_warmup",
    "--scheduler.num_warmup_steps=2",     "--scheduler.num_decay_steps=7", "--scheduler.peak_lr=1e-3",
    "--scheduler.decay_lr=1e-4"};
// An episode has a little over a hundred frames: three batches, so that epochs pass.
const Flags kSeveralEpochs = {"--dataset.episodes=[0]", "--batch_size=48"};
const Flags kAugmentation = {"--dataset.image_transforms.enable=true", "--dataset.image_transforms.random_order=true"};

INSTANTIATE_TEST_SUITE_P(
    Cli, ExactResume,
    testing::Values(
        Case{"Plain", {}}, Case{"DropoutAndVae", kRandom}, Case{"SecondEpoch", kRandom + kSeveralEpochs},
        Case{"FirstStep", kRandom, {}, false, 2, 1}, Case{"InsideAnAccumulationWindow", kRandom + kAccumulation},
        Case{"BetweenAccumulationWindows", kRandom + kAccumulation, {}, false, 7, 6}, Case{"Ema", kRandom + kEma},
        Case{"ConstantEma", kEma + Flags{"--ema.decay=0.9"}}, Case{"Bf16", kRandom + kBf16},
        Case{"Schedule", kRandom + kSchedule},
        Case{"WorkersOnlyAfterwards", kRandom + kSeveralEpochs, {"--num_workers=2"}},
        Case{"WorkersOnlyBefore", kRandom + Flags{"--num_workers=2"}, {"--num_workers=0"}},
        Case{"SynchronousSaves", kRandom + Flags{"--async_save=false"}},
        Case{"Augmentation", kRandom + kAugmentation, {"--num_workers=2"}, true, 4, 2},
        Case{"AllAtOnce", kRandom + kAccumulation + kEma + kBf16 + kAugmentation, {"--num_workers=2"}, true, 5, 2}),
    [](const auto& info) { return info.param.name; });

class Resume : public testing::Test {
 protected:
  void run(const Flags& more) const {
    const ProcessResult result = lerobot_train(small_keypoint_run(out()) + more);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  fs::path out() const { return directory_.path() / "out"; }

  TemporaryDirectory directory_;
};

TEST_F(Resume, WithMoreStepsEqualsTheLongerRun) {
  run({"--steps=2"});
  ASSERT_EQ(resume(out() / "checkpoints" / "last" / "pretrained_model" / "train_config.json", {"--steps=4"}).exit_code,
            0);
  const fs::path longer = directory_.path() / "longer";
  ASSERT_EQ(lerobot_train(small_keypoint_run(longer) + Flags{"--steps=4"}).exit_code, 0);
  expect_same_state(step_folder(out(), 4), step_folder(longer, 4));
  EXPECT_EQ(losses_after(out(), 0), losses_after(longer, 0));  // one file, without a gap or a double
}

TEST_F(Resume, FromAnEarlierCheckpointForgetsTheLaterMetrics) {
  run({"--steps=4", "--save_freq=2"});
  const std::vector<std::string> losses = losses_after(out(), 0);
  ASSERT_EQ(resume(step_folder(out(), 2) / "pretrained_model", {}).exit_code, 0);
  EXPECT_EQ(losses_after(out(), 0), losses);
}

TEST_F(Resume, OfAFinishedRunChangesNothing) {
  run({"--steps=2"});
  const auto times = [&] {
    std::vector<std::pair<fs::path, fs::file_time_type>> result;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out())) {
      result.emplace_back(entry.path(), entry.last_write_time());
    }
    std::ranges::sort(result);
    return result;
  };
  const auto before = times();
  const ProcessResult again = resume(out() / "checkpoints" / "last" / "pretrained_model", {});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("Nothing left to do: step 2 is done, and --steps=2"));
  EXPECT_EQ(times(), before);
}

TEST_F(Resume, TakesAnyPathThatLeadsToTheCheckpoint) {
  run({"--steps=1"});
  const fs::path last = out() / "checkpoints" / "last";
  for (const fs::path& path : {last / "pretrained_model" / "train_config.json", last / "pretrained_model" / "", last,
                               step_folder(out(), 1), out() / "checkpoints", out()}) {
    const ProcessResult result = resume(path, {});
    EXPECT_EQ(result.exit_code, 0) << path << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("step 1 is done")) << path;
  }
}

TEST_F(Resume, SaysWhatIsDifferentFromTheCheckpoint) {
  run({"--steps=2", "--accelerator.gradient_accumulation.steps=3"});
  const ProcessResult result =
      resume(out(), {"--steps=3", "--batch_size=4", "--seed=7", "--accelerator.gradient_accumulation.steps=2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("Resuming with batch_size=4, but the checkpoint was written with batch_size=8"),
                    HasSubstr("accelerator.gradient_accumulation.steps=2, but the checkpoint was written with "
                              "accelerator.gradient_accumulation.steps=3"),
                    HasSubstr("its 2 batches are dropped, since the windows' length changed"),
                    HasSubstr("seed: is 7 now and was 1000 in the run that is resumed")));
}

// Three steps of 8 frames, two of 4.
TEST_F(Resume, KnowsItsPlaceInTheDataAfterTheBatchSizeHasChanged) {
  run({"--steps=3"});
  ASSERT_EQ(resume(out(), {"--batch_size=4", "--steps=5"}).exit_code, 0);
  const ProcessResult again = resume(out(), {"--steps=6"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("Resuming data order at epoch 0, sample 32"));
}

TEST_F(Resume, GoesOnWhereTheDataCouldNotBeRead) {
  const fs::path data = directory_.path() / "data";
  fs::copy(dataset_folder("pusht_demo_image"), data, fs::copy_options::recursive);
  std::vector<std::string> command = {lerobot_train_program().string()};
  for (const std::string& flag : small_image_run(out()) + Flags{"--dataset.root=" + data.string(), "--batch_size=2",
                                                                "--steps=1000000", "--save_freq=0"}) {
    command.push_back(flag);
  }
  std::vector<std::pair<fs::path, std::string>> videos;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(data / "videos")) {
    if (entry.path().extension() == ".mp4") videos.emplace_back(entry.path(), read_file(entry.path()));
  }
  ASSERT_FALSE(videos.empty());
  Process running(command);
  ASSERT_TRUE(running.wait_for("step:2 "));
  for (const auto& [path, content] : videos) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << std::string(content.size(), '\0');
  }
  const ProcessResult stopped = running.wait();
  EXPECT_EQ(stopped.exit_code, 1) << stopped.err;
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("what was learnt before is saved. To go on when the data can be read: "
                                           "lerobot-train --resume=true --config_path=" +
                                           out().string()),
                                 HasSubstr(".mp4")));
  for (const auto& [path, content] : videos) std::ofstream(path, std::ios::binary) << content;
  const int64_t step = std::stoll(fs::read_symlink(out() / "checkpoints" / "last").string());
  EXPECT_GE(step, 2);
  const ProcessResult resumed = resume(out(), {"--steps=" + std::to_string(step + 1)});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(Resume, SaysWhenLaterCheckpointsCountFirst) {
  run({"--steps=4", "--save_freq=1"});
  const ProcessResult back = resume(step_folder(out(), 1), {"--steps=2", "--save_total_limit=2"});
  EXPECT_EQ(back.exit_code, 0) << back.err;
  EXPECT_THAT(back.err, HasSubstr("already holds 3 checkpoints of later steps than 1"));
}

TEST_F(Resume, IsRefusedWhileTheRunIsStillAtWork) {
  std::vector<std::string> command = {lerobot_train_program().string()};
  for (const std::string& flag : small_keypoint_run(out()) + Flags{"--steps=1000000", "--save_freq=1"}) {
    command.push_back(flag);
  }
  Process running(command);
  ASSERT_TRUE(running.wait_for("Model weights successfully saved to "));
  for (const bool save : {true, false}) {
    const ProcessResult second = resume(out(), {save ? "--save_checkpoint=true" : "--save_checkpoint=false"});
    EXPECT_EQ(second.exit_code, 2);
    EXPECT_THAT(second.err, HasSubstr("--output_dir: another lerobot-train is at work in '" + out().string() + "'"));
  }
  running.send(SIGTERM);
  EXPECT_EQ(running.wait().exit_code, 143);
  EXPECT_EQ(resume(out(), {"--steps=1"}).exit_code, 0);
}

TEST_F(Resume, StartsTheAverageAnewWhenTheCheckpointHasNone) {
  run({"--steps=1"});
  const ProcessResult result = resume(out(), {"--steps=2", "--ema.enable=true"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the average starts anew"));
  EXPECT_TRUE(fs::exists(step_folder(out(), 2) / "pretrained_model_ema" / "model.safetensors"));
}

}  // namespace
}  // namespace lerobot::testing_support
