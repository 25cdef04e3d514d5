// What lerobot-train refuses, and that it says so: exit code, the culprit's name, the way out, and nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/lerobot_train.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::testing_support {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class Refusal : public testing::Test {
 protected:
  fs::path output_dir() const { return directory_.path() / "out"; }

  // The keypoint run with `more` flags behind it; later flags win.
  ProcessResult train(const std::vector<std::string>& more, const ProcessOptions& options = {}) const {
    std::vector<std::string> flags = small_keypoint_run(output_dir());
    flags.insert(flags.end(), more.begin(), more.end());
    return lerobot_train(flags, options);
  }

  // A copy of a dataset of data/ that a test may spoil.
  fs::path copy_of(const std::string& dataset) const {
    const fs::path copy = directory_.path() / dataset;
    fs::copy(dataset_folder(dataset), copy, fs::copy_options::recursive);
    return copy;
  }

  void expect_refused(const ProcessResult& result, const testing::Matcher<std::string>& message) const {
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, message);
    expect_clean(result);
  }

  // No words for programmers, nothing on stdout, no output folder.
  void expect_clean(const ProcessResult& result) const {
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(Not(HasSubstr("terminate called")), Not(HasSubstr("Exception raised from")),
                                  Not(HasSubstr("frame #"))));
    EXPECT_FALSE(fs::exists(output_dir())) << "an output folder was left behind";
  }

  TemporaryDirectory directory_;
};

void truncate_to_half(const fs::path& file) {
  fs::resize_file(file, fs::file_size(file) / 2);
}

TEST_F(Refusal, NamesTheFolderThatHoldsNoDataset) {
  const fs::path nowhere = directory_.path() / "nowhere";
  expect_refused(train({"--dataset.root=" + nowhere.string()}), HasSubstr(nowhere.string()));
}

TEST_F(Refusal, NamesTheVersionOfAnOlderDatasetAndTheOneItReads) {
  const fs::path root = directory_.path() / "old";
  fs::create_directories(root / "meta");
  std::ofstream(root / "meta" / "info.json")
      << R"({"codebase_version": "v2.1", "robot_type": "unknown", "total_episodes": 1, "total_frames": 1, "fps": 10,
             "chunks_size": 1000, "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
             "video_path": null, "features": {"action": {"dtype": "float32", "shape": [2], "names": null}}})";
  expect_refused(train({"--dataset.root=" + root.string()}), AllOf(HasSubstr("v2.1"), HasSubstr("v3.0")));
}

TEST_F(Refusal, NamesTheMissingStatistics) {
  const fs::path root = copy_of("pusht_demo_keypoints");
  fs::remove(root / "meta" / "stats.json");
  expect_refused(train({"--dataset.root=" + root.string()}), HasSubstr("stats.json"));
}

TEST_F(Refusal, NamesTheTruncatedParquetFile) {
  const fs::path root = copy_of("pusht_demo_keypoints");
  truncate_to_half(root / "data" / "chunk-000" / "file-000.parquet");
  expect_refused(train({"--dataset.root=" + root.string()}), HasSubstr("data/chunk-000/file-000.parquet"));
}

TEST_F(Refusal, NamesTheTruncatedVideo) {
  const fs::path root = copy_of("pusht_demo_image");
  truncate_to_half(root / "videos" / "observation.image" / "chunk-000" / "file-000.mp4");
  std::vector<std::string> flags = small_image_run(output_dir());
  flags.push_back("--dataset.root=" + root.string());
  expect_refused(lerobot_train(flags), HasSubstr("videos/observation.image/chunk-000/file-000.mp4"));
}

TEST_F(Refusal, DoesNotReplaceAnAbsentDeviceByAnother) {
  ProcessOptions without_gpu;
  without_gpu.environment = {"CUDA_VISIBLE_DEVICES="};
  expect_refused(train({"--policy.device=cuda"}, without_gpu), AllOf(HasSubstr("policy.device"), HasSubstr("cuda")));
}

TEST_F(Refusal, DoesNotTrainInFloat32WhereFp16WasAskedFor) {
  expect_refused(train({"--accelerator.mixed_precision=fp16"}),
                 AllOf(HasSubstr("--accelerator.mixed_precision=fp16: this run is on cpu"), HasSubstr("=bf16")));
}

TEST_F(Refusal, NamesTheDevicesThatItKnows) {
  expect_refused(train({"--policy.device=gpu"}), AllOf(HasSubstr("gpu"), HasSubstr("cuda"), HasSubstr("cpu")));
}

TEST_F(Refusal, KeepsAnExistingOutputFolder) {
  fs::create_directories(output_dir());
  const ProcessResult result = train({});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr(output_dir().string() + "' exists already"));
  EXPECT_TRUE(fs::is_empty(output_dir()));
}

TEST_F(Refusal, NamesTheOutputFolderThatCannotBeMade) {
  const fs::path file = directory_.path() / "file";
  std::ofstream(file) << "text";
  expect_refused(train({"--output_dir=" + (file / "out").string()}),
                 AllOf(HasSubstr("--output_dir"), HasSubstr(file.string() + " is not a folder")));
}

TEST_F(Refusal, SuggestsTheFlagThatWasMeant) {
  expect_refused(train({"--batch_sise=4"}), AllOf(HasSubstr("--batch_sise"), HasSubstr("--batch_size")));
}

TEST_F(Refusal, NamesTheFlagAndTheValueThatIsNoInteger) {
  expect_refused(train({"--steps=1e3"}), AllOf(HasSubstr("steps"), HasSubstr("1e3")));
}

TEST_F(Refusal, ListsAllProblemsAtOnce) {
  expect_refused(train({"--policy.n_action_steps=9", "--dataset.eval_split=2"}),
                 AllOf(HasSubstr("n_action_steps"), HasSubstr("eval_split")));
}

TEST_F(Refusal, AsksForADataset) {
  const ProcessResult result = lerobot_train({"--policy.type=act", "--policy.push_to_hub=false"});
  expect_refused(result, HasSubstr("dataset"));
}

TEST_F(Refusal, AsksForARepositoryNameBeforeItWouldPush) {
  expect_refused(train({"--policy.push_to_hub=true"}), AllOf(HasSubstr("repo_id"), HasSubstr("push_to_hub")));
}

TEST_F(Refusal, AsksForTheConfigOfTheRunToResume) {
  expect_refused(train({"--resume=true"}), HasSubstr("config_path"));
}

TEST_F(Refusal, NamesTheConfigFileThatIsNotThere) {
  const fs::path config = directory_.path() / "none" / "train_config.json";
  expect_refused(lerobot_train({"--resume=true", "--config_path=" + config.string()}), HasSubstr(config.string()));
}

}  // namespace
}  // namespace lerobot::testing_support
