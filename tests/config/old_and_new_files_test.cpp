// Configuration files of older and newer LeRobots.
#include <gmock/gmock.h>

#include "config_test_support.hpp"

namespace lerobot {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class OldAndNewFilesTest : public CommandLineTest {
 protected:
  // CFG.json with one value set, under the name run.json.
  Args file_with(const std::string& pointer, Json value) {
    Json config = read_json("CFG.json");
    config[Json::json_pointer(pointer)] = std::move(value);
    write("run.json", to_python_json(config));
    return {"--config_path=run.json"};
  }
};

TEST_F(OldAndNewFilesTest, NamesFileAndWayOutOfAFieldThatNobodyKnows) {
  EXPECT_THAT(error_of(file_with("/policy/quantum_depth", 3)),
              AllOf(StartsWith("--policy.quantum_depth: there is no such field of type 'act'."),
                    HasSubstr("(in run.json: correct it there or take it out"), HasSubstr("newer LeRobot")));
  EXPECT_THAT(error_of(file_with("/batch_sise", 3)), HasSubstr("Did you mean `batch_size`? (in run.json: "));
}

TEST_F(OldAndNewFilesTest, NamesThePolicysOwnFileForItsFields) {
  Json config = read_json("pretrained_model/config.json");
  config["chunk_sise"] = 4;
  write("pretrained_model/config.json", to_python_json(config));
  EXPECT_THAT(error_of({"--dataset.repo_id=a/b", "--policy.path=pretrained_model"}),
              HasSubstr("Did you mean `chunk_size`? (in pretrained_model/config.json: "));
}

TEST_F(OldAndNewFilesTest, DoesNotBlameAFileForATypedField) {
  EXPECT_THAT(error_of({"--config_path=CFG.json", "--dataset={\"episods\": [1]}"}), Not(HasSubstr("CFG.json")));
}

TEST_F(OldAndNewFilesTest, ReadsEvalFreqByItsPresentName) {
  Json config = read_json("CFG.json");
  config.erase("env_eval_freq");
  config["eval_freq"] = 123;
  write("old.json", to_python_json(config));
  const auto command = parse({"--config_path=old.json"});
  EXPECT_EQ(command.config->env_eval_freq, 123);
  EXPECT_THAT(command.warnings, Contains(HasSubstr("`eval_freq` is read as `env_eval_freq`")));
}

TEST_F(OldAndNewFilesTest, GivesFieldsThatAnOldFileLacksTheirDefaults) {
  write("old.json", R"({"dataset": {"repo_id": "a/b"}, "policy": {"type": "act", "push_to_hub": false}})");
  const auto command = parse({"--config_path=old.json"});
  EXPECT_EQ(command.config->seed, 1000);
  EXPECT_EQ(command.config->accelerator.mixed_precision, "no");
  EXPECT_THAT(command.warnings, IsEmpty());
}

TEST_F(OldAndNewFilesTest, LetsTf32AndLossScalingOfANewerLeRobotTakeEffect) {
  Json config = read_json("CFG.json");
  config["tf32"] = false;
  config["accelerator"]["grad_scaler"] = {
      {"init_scale", 1024}, {"growth_factor", 2.0}, {"backoff_factor", 0.5}, {"growth_interval", 50}};
  write("newer.json", to_python_json(config));
  const auto command = parse({"--config_path=newer.json"});
  EXPECT_EQ(command.config->tf32, false);
  EXPECT_EQ(command.config->accelerator.grad_scaler.init_scale, 1024.0);
  EXPECT_EQ(command.config->accelerator.grad_scaler.growth_interval, 50);
  EXPECT_FALSE(to_train_config_json(*command.config).contains("tf32"));
}

TEST_F(OldAndNewFilesTest, WarnsThatUseAmpNoLongerDecidesThePrecision) {
  const Args args = file_with("/policy/use_amp", true);
  const auto about_amp = HasSubstr("--accelerator.mixed_precision=bf16");
  EXPECT_THAT(parse(args).warnings, Contains(AllOf(StartsWith("--policy.use_amp: "), about_amp)));
  EXPECT_THAT(parse(with(args, {"--accelerator.mixed_precision=bf16"})).warnings, Not(Contains(about_amp)));
  EXPECT_THAT(parse(with(args, {"--accelerator.mixed_precision=no"})).warnings, Not(Contains(about_amp)));
  EXPECT_THAT(parse({"--config_path=CFG.json"}).warnings, Not(Contains(about_amp)));
}

TEST_F(OldAndNewFilesTest, TakesNumbersAsLeRobotTakesThem) {
  EXPECT_EQ(parse(file_with("/steps", "12")).config->steps, 12);
  EXPECT_EQ(parse(file_with("/tolerance_s", 1)).config->tolerance_s, 1.0);
  EXPECT_THAT(error_of(file_with("/steps", 4.0)), StartsWith("--steps: expected an integer, got '4.0' (in run.json)"));
}

TEST_F(OldAndNewFilesTest, SaysWhatShardedFormatsNeed) {
  for (const char* format : {"dcp", "safetensors_dcp"}) {
    EXPECT_THAT(error_of(file_with("/checkpoint_format", format)),
                AllOf(StartsWith(std::string("--checkpoint_format: '") + format + "'"),
                      HasSubstr("--parallelism.dp_shard"), HasSubstr("leave it at safetensors")));
  }
}

TEST_F(OldAndNewFilesTest, RecordsARenameMap) {
  const auto command =
      parse({"--dataset.repo_id=a/b", "--policy.path=pretrained_model", R"(--rename_map={"x": "y", "a": "b"})"});
  EXPECT_EQ(to_train_config_json(*command.config)["rename_map"].dump(), R"({"x":"y","a":"b"})");
  EXPECT_THAT(error_of(with(base_, {R"(--rename_map={"x": "y"})"})),
              StartsWith("--rename_map: needs a trained policy (--policy.path)"));
}

}  // namespace
}  // namespace lerobot
