// --policy.path and --config_path with the name of a Hub repository, which is looked up in the local cache.
#include <gmock/gmock.h>

#include <cstdlib>

#include "config_test_support.hpp"

namespace lerobot {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class PretrainedTest : public CommandLineTest {
 protected:
  void SetUp() override {
    CommandLineTest::SetUp();
    if (const char* value = std::getenv("HF_HUB_CACHE")) previous_cache_ = value;
    setenv("HF_HUB_CACHE", (folder_ / "hub").c_str(), 1);
  }
  void TearDown() override {
    previous_cache_ ? setenv("HF_HUB_CACHE", previous_cache_->c_str(), 1) : unsetenv("HF_HUB_CACHE");
    CommandLineTest::TearDown();
  }

  // A snapshot of ann/pick that `revision` names; its folder.
  fs::path cached(const std::string& revision, const std::string& commit) {
    const fs::path repository = folder_ / "hub" / "models--ann--pick";
    fs::create_directories(repository / "refs");
    fs::create_directories(repository / "snapshots" / commit);
    write(repository / "refs" / revision, commit);
    return repository / "snapshots" / commit;
  }
  static Json policy_of(const config::ParsedCommand& command) { return to_policy_config_json(*command.config->policy); }

  const Args fine_tune_ = {"--dataset.repo_id=a/b", "--policy.path=ann/pick", "--policy.push_to_hub=false"};

 private:
  std::optional<std::string> previous_cache_;
};

TEST_F(PretrainedTest, TakesAPolicyFromTheHubCacheAndRecordsTheRepository) {
  fs::copy("pretrained_model", cached("main", "c0ffee"));
  const auto command = parse(fine_tune_);
  EXPECT_EQ(command.policy_path, folder_ / "hub/models--ann--pick/snapshots/c0ffee");
  EXPECT_EQ(policy_of(command)["dim_model"], 32);
  EXPECT_EQ(policy_of(command)["pretrained_path"], "ann/pick");
  EXPECT_EQ(policy_of(command)["pretrained_revision"], nullptr);
}

TEST_F(PretrainedTest, TakesTheRevisionThatWasAskedFor) {
  cached("main", "c0ffee");
  Json config = read_json("pretrained_model/config.json");
  config["kl_weight"] = 3.5;
  config["pretrained_revision"] = "of-its-own-start";
  write(cached("v2", "beef") / "config.json", to_python_json(config));
  const auto command = parse(with(fine_tune_, {"--policy.pretrained_revision=v2"}));
  EXPECT_EQ(policy_of(command)["kl_weight"], 3.5);
  EXPECT_EQ(policy_of(command)["pretrained_revision"], "v2");
  EXPECT_EQ(policy_of(parse(with(fine_tune_, {"--policy.pretrained_revision=beef"})))["kl_weight"], 3.5);
}

TEST_F(PretrainedTest, PrefersAFolderToARepository) {
  fs::create_directories("ann");
  fs::copy("pretrained_model", "ann/pick");
  EXPECT_EQ(parse(fine_tune_).policy_path, "ann/pick");
}

TEST_F(PretrainedTest, SaysHowToDownloadWhatIsNotInTheCache) {
  EXPECT_THAT(error_of(fine_tune_), AllOf(StartsWith("--policy.path: 'ann/pick' is not a folder here"),
                                          HasSubstr("models--ann--pick"), HasSubstr("hf download ann/pick")));
  EXPECT_THAT(error_of({"--config_path=ann/pick"}), AllOf(StartsWith("--config_path: "), HasSubstr("hf download")));
  cached("main", "c0ffee");
  EXPECT_THAT(
      error_of(with(fine_tune_, {"--policy.pretrained_revision=v9"})),
      AllOf(HasSubstr("no revision 'v9'"), HasSubstr("has main"), HasSubstr("hf download ann/pick --revision v9")));
  EXPECT_THAT(error_of({"--dataset.repo_id=a/b", "--policy.path=/nowhere/x"}),
              AllOf(HasSubstr("'/nowhere/x' does not exist"), Not(HasSubstr("hf download"))));
  EXPECT_THAT(error_of({"--config_path=runs/train.json"}), Not(HasSubstr("hf download")));
}

TEST_F(PretrainedTest, ReadsTheConfigOfACachedRun) {
  const fs::path snapshot = cached("main", "c0ffee");
  fs::copy("CFG.json", snapshot / "train_config.json");
  EXPECT_EQ(parse({"--config_path=ann/pick"}).config_path, snapshot / "train_config.json");
}

TEST_F(PretrainedTest, ResumesACachedRunInAFolderOfItsOwn) {
  const fs::path step = cached("main", "c0ffee") / "checkpoints" / "000010";
  fs::create_directories(step / "pretrained_model");
  fs::create_directories(step / "training_state");
  fs::copy("CFG.json", step / "pretrained_model" / "train_config.json");
  const auto command = parse({"--config_path=ann/pick", "--resume=true"});
  EXPECT_EQ(command.config->checkpoint_path, step);
  EXPECT_THAT(command.config->output_dir->string(), StartsWith("outputs/train/"));  // not the recorded one
  EXPECT_EQ(parse({"--config_path=ann/pick", "--resume=true", "--output_dir=mine"}).config->output_dir, "mine");
}

TEST_F(PretrainedTest, KeepsThePathWhateverTheFolderOrAFlagSays) {
  Json config = read_json("pretrained_model/config.json");
  config["pretrained_path"] = "its/own/start";
  write("pretrained_model/config.json", to_python_json(config));
  const auto command = parse({"--dataset.repo_id=a/b", "--policy.path=pretrained_model"});
  EXPECT_EQ(command.config->policy->pretrained_path, "pretrained_model");
}

}  // namespace
}  // namespace lerobot
