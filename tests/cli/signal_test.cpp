// lerobot-train while signals arrive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cli/lerobot_train.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::testing_support {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Signals : public testing::Test {
 protected:
  // A run that ends only when it is stopped, and saves only when it is told to.
  std::vector<std::string> endless_run(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {lerobot_train_program().string()};
    const std::vector<std::string> flags = small_keypoint_run(output_dir());
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"--steps=1000000", "--save_freq=0"});
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  fs::path output_dir() const { return directory_.path() / "out"; }
  fs::path checkpoints() const { return output_dir() / "checkpoints"; }
  std::string last_config() const {
    return (checkpoints() / "last" / "pretrained_model" / "train_config.json").string();
  }
  std::vector<std::string> resume(const std::vector<std::string>& more) const {
    std::vector<std::string> command = {lerobot_train_program().string(), "--resume=true",
                                        "--config_path=" + last_config()};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  int64_t last_step() const { return std::stoll(fs::read_symlink(checkpoints() / "last").string()); }

  TemporaryDirectory directory_;
};

TEST_F(Signals, StopWithACheckpointFromWhichTheRunGoesOn) {
  for (const auto& [signal, exit_code] : {std::pair{SIGTERM, 143}, std::pair{SIGINT, 130}}) {
    fs::remove_all(output_dir());
    Process process(endless_run());
    ASSERT_TRUE(process.wait_for("step:2 "));
    process.send(signal);
    const ProcessResult stopped = process.wait();
    EXPECT_EQ(stopped.exit_code, exit_code) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("which is saved. To go on: lerobot-train --resume=true --config_path=" +
                                       output_dir().string()));
    const int64_t step = last_step();
    EXPECT_GE(step, 2);
    const ProcessResult resumed = run_process(resume({"--steps=" + std::to_string(step + 1)}));
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(last_step(), step + 1);
  }
}

TEST_F(Signals, ASecondOneDoesNotWaitForACheckpoint) {
  Process process(endless_run());
  ASSERT_TRUE(process.wait_for("step:2 "));
  process.send(SIGSTOP);  // so that both are there when it goes on
  process.send(SIGINT);
  process.send(SIGTERM);
  process.send(SIGCONT);
  EXPECT_THAT(process.wait().exit_code, testing::AnyOf(130, 143));
  EXPECT_FALSE(fs::exists(checkpoints()));
}

TEST_F(Signals, SaveAndGoOnWhenAskedTo) {
  Process process(endless_run());
  ASSERT_TRUE(process.wait_for("step:2 "));
  process.send(SIGUSR1);
  ASSERT_TRUE(process.wait_for("Model weights successfully saved to "));
  EXPECT_GE(last_step(), 2);
  EXPECT_TRUE(process.wait_for("step:"));
  process.send(SIGTERM);
  EXPECT_EQ(process.wait().exit_code, 143);
}

TEST_F(Signals, StopARunThatMayNotSaveWithoutWritingAnything) {
  Process process(endless_run({"--save_checkpoint=false"}));
  ASSERT_TRUE(process.wait_for("step:2 "));
  process.send(SIGTERM);
  const ProcessResult stopped = process.wait();
  EXPECT_EQ(stopped.exit_code, 143);
  EXPECT_THAT(stopped.err, HasSubstr("nothing was saved (--save_checkpoint=false)"));
  EXPECT_FALSE(fs::exists(output_dir()));
}

// Killed again and again at any moment, start-up, step, save, commit and clean-up included: each start goes on from a
// whole checkpoint, never from an older one than before, and the last one finds everything in order.
TEST_F(Signals, KilledAtFiftyMomentsTheRunAlwaysGoesOn) {
  constexpr int kKills = 50;
  ASSERT_EQ(run_process(endless_run({"--steps=1"})).exit_code, 0);
  std::mt19937 random(7);
  const auto one_of = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  int64_t step = last_step();
  for (int kill = 0; kill < kKills; ++kill) {
    SCOPED_TRACE(kill);
    Process process(resume({"--steps=1000000", "--save_freq=1", "--save_total_limit=3", "--log_freq=0"}));
    if (kill % 2 == 0) {  // in the middle of training; one save at least is finished by then
      for (int saves = one_of(2, 4); saves > 0; --saves) ASSERT_TRUE(process.wait_for("Checkpoint policy after step"));
      std::this_thread::sleep_for(std::chrono::microseconds(one_of(0, 15000)));
    } else {  // anywhere from the very start on
      std::this_thread::sleep_for(std::chrono::milliseconds(one_of(0, 500)));
    }
    process.send(SIGKILL);
    const ProcessResult killed = process.wait();
    ASSERT_EQ(killed.exit_code, 128 + SIGKILL) << killed.err;
    ASSERT_GE(last_step(), step);
    step = last_step();
  }
  EXPECT_GE(step, 1 + kKills / 2);
  const ProcessResult whole = run_process(resume({"--steps=" + std::to_string(step + 1), "--save_total_limit=3"}));
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints())) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_EQ(names.size(), 4) << "three checkpoints and `last`";
  EXPECT_THAT(names, testing::Each(testing::Not(testing::StartsWith("."))));
}

}  // namespace
}  // namespace lerobot::testing_support
