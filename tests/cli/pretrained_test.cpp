// New runs that start from a trained policy (--policy.path): its cameras under other names, files of an older LeRobot,
// weights that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
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
using Flags = std::vector<std::string>;

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void replace_in_file(const fs::path& path, const std::string& from, const std::string& to) {
  std::string text = read_file(path);
  ASSERT_NE(text.find(from), std::string::npos) << from << " is not in " << path;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  write_file(path, text);
}

// Adds a float32 tensor of one element to a safetensors file: its entry to the header, its bytes to the end.
void add_tensor(const fs::path& path, const std::string& name) {
  const std::string file = read_file(path);
  uint64_t header_size = 0;
  std::memcpy(&header_size, file.data(), sizeof(header_size));
  const std::string header = file.substr(8, header_size);
  const std::string data = file.substr(8 + header_size);
  std::string entry = "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" +
                      std::to_string(data.size()) + "," + std::to_string(data.size() + 4) + "]},";
  entry += header.substr(1);
  entry.append((8 - entry.size() % 8) % 8, ' ');
  header_size = entry.size();
  std::string size(8, '\0');
  std::memcpy(size.data(), &header_size, sizeof(header_size));
  write_file(path, size + entry + data + std::string(4, '\0'));
}

// The loss of the first logged step, as it is written.
std::string first_loss(const fs::path& output_dir) {
  const std::string metrics = read_file(output_dir / "metrics.jsonl");
  std::smatch match;
  EXPECT_TRUE(std::regex_search(metrics, match, std::regex("\"loss\": ?([^,}]+)"))) << metrics;
  return match[1].str();
}

class FineTuning : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return directory_.path() / name; }
  fs::path model(const std::string& output_dir, const std::string& step) const {
    return path(output_dir) / "checkpoints" / step / "pretrained_model";
  }

  // One step of a fresh policy; its pretrained_model folder.
  fs::path train_once(Flags flags) const {
    flags.insert(flags.end(), {"--steps=1", "--batch_size=2"});
    const ProcessResult result = lerobot_train(flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return model("first", "000001");
  }

  ProcessResult fine_tune(const fs::path& from, const std::string& dataset, const std::string& output_dir,
                          const Flags& more = {}) const {
    Flags flags = {"--dataset.repo_id=local/" + dataset,
                   "--dataset.root=" + dataset_folder(dataset).string(),
                   "--policy.path=" + from.string(),
                   "--policy.push_to_hub=false",
                   "--output_dir=" + path(output_dir).string(),
                   "--batch_size=2",
                   "--steps=1",
                   "--log_freq=1",
                   "--num_workers=0"};
    flags.insert(flags.end(), more.begin(), more.end());
    return lerobot_train(flags);
  }
  ProcessResult fine_tune_keypoints(const fs::path& from, const std::string& output_dir, const Flags& more = {}) const {
    return fine_tune(from, "pusht_demo_keypoints", output_dir, more);
  }

  TemporaryDirectory directory_;
};

TEST_F(FineTuning, RenamesTheDatasetsCameraToThePolicys) {
  const fs::path plain = train_once(small_image_run(path("first")));
  const fs::path renamed = path("renamed");
  fs::copy(plain, renamed);
  const std::string from = "\"observation.image\"";
  const std::string to = "\"observation.images.cam_high\"";
  replace_in_file(renamed / "config.json", from, to);
  replace_in_file(renamed / "policy_preprocessor.json", from, to);
  const std::string map = "--rename_map={" + from + ": " + to + "}";

  const ProcessResult refused = fine_tune(renamed, "pusht_demo_image", "refused");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--rename_map='{" + from + ": " + to + "}'"));

  const ProcessResult result = fine_tune(renamed, "pusht_demo_image", "renamed-run", {map});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(fine_tune(plain, "pusht_demo_image", "plain-run").exit_code, 0);
  EXPECT_EQ(first_loss(path("renamed-run")), first_loss(path("plain-run")));

  const fs::path saved = model("renamed-run", "000001");
  for (const char* file : {"train_config.json", "policy_preprocessor.json"}) {
    EXPECT_TRUE(std::regex_search(
        read_file(saved / file),
        std::regex(R"("rename_map": \{\s*"observation\.image": "observation\.images\.cam_high"\s*\})")))
        << file;
  }
  const ProcessResult resumed =
      lerobot_train({"--resume=true", "--config_path=" + (saved / "train_config.json").string(), "--steps=2",
                     "--output_dir=" + path("resumed").string()});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(FineTuning, NamesWhatTheDatasetOffersWhenARenameMapIsWrong) {
  const fs::path policy = train_once(small_keypoint_run(path("first")));
  const ProcessResult unknown = fine_tune_keypoints(policy, "a", {"--rename_map={\"observation.stat\": \"x\"}"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err,
              AllOf(HasSubstr("--rename_map: `observation.stat`"), HasSubstr("observation.environment_state"),
                    HasSubstr("Did you mean `observation.state`?")));
  const ProcessResult clash =
      fine_tune_keypoints(policy, "b", {"--rename_map={\"observation.environment_state\": \"observation.state\"}"});
  EXPECT_EQ(clash.exit_code, 2);
  EXPECT_THAT(clash.err, HasSubstr("gives 2 features of the dataset"));
}

TEST_F(FineTuning, MakesNewProcessorsForAPolicyOfAnOldLeRobot) {
  const fs::path policy = train_once(small_keypoint_run(path("first")));
  ASSERT_EQ(fine_tune_keypoints(policy, "today").exit_code, 0);

  const fs::path old = path("old-run") / "checkpoints" / "000001" / "pretrained_model";
  fs::create_directories(old.parent_path().parent_path());
  fs::copy(policy.parent_path(), old.parent_path(), fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(old)) {
    if (entry.path().filename().string().starts_with("policy_")) fs::remove(entry.path());
  }
  add_tensor(old / "model.safetensors", "normalize_inputs.buffer_observation_state.mean");
  const ProcessResult result = fine_tune_keypoints(old, "old-tuned");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("they are made anew, with the dataset's statistics"),
                                HasSubstr("1 tensor (normalize_inputs.buffer_observation_state.mean) of normalisation"),
                                Not(HasSubstr("that the policy does not have"))));
  EXPECT_EQ(first_loss(path("old-tuned")), first_loss(path("today")));

  const ProcessResult resumed =
      lerobot_train({"--resume=true", "--config_path=" + (old / "train_config.json").string(), "--steps=2"});
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_THAT(resumed.err, AllOf(HasSubstr("policy_preprocessor.json is missing"),
                                 HasSubstr("--policy.path=" + old.string()), HasSubstr("without --resume")));
}

TEST_F(FineTuning, NamesTheFlagThatExplainsWeightsOfAnotherSize) {
  const fs::path policy = train_once(small_keypoint_run(path("first")));
  const ProcessResult result = fine_tune_keypoints(policy, "wider", {"--policy.dim_model=64"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("model.safetensors"), HasSubstr("model.action_head.weight: "),
                                HasSubstr("--policy.dim_model is 64 in this run and 32 in the checkpoint")));
  EXPECT_FALSE(fs::exists(path("wider") / "checkpoints"));
}

TEST_F(FineTuning, StartsFromARepositoryInTheHubCache) {
  const fs::path policy = train_once(small_keypoint_run(path("first")));
  const fs::path repository = path("hub") / "models--ann--pick";
  fs::create_directories(repository / "refs");
  fs::create_directories(repository / "snapshots");
  write_file(repository / "refs" / "main", "c0ffee");
  fs::copy(policy, repository / "snapshots" / "c0ffee", fs::copy_options::recursive);
  const Flags flags = {"--dataset.repo_id=local/keypoints",
                       "--dataset.root=" + dataset_folder("pusht_demo_keypoints").string(),
                       "--policy.path=ann/pick",
                       "--policy.push_to_hub=false",
                       "--output_dir=" + path("tuned").string(),
                       "--batch_size=2",
                       "--steps=1",
                       "--log_freq=1",
                       "--num_workers=0"};
  const ProcessResult result =
      lerobot_train(flags, {.directory = {}, .environment = {"HF_HUB_CACHE=" + path("hub").string()}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(fine_tune_keypoints(policy, "from-folder").exit_code, 0);
  EXPECT_EQ(first_loss(path("tuned")), first_loss(path("from-folder")));
  EXPECT_THAT(read_file(model("tuned", "000001") / "config.json"), HasSubstr("\"pretrained_path\": \"ann/pick\""));
}

}  // namespace
}  // namespace lerobot::testing_support
