// The files: what is written, and that reading it back loses nothing.
#include <gmock/gmock.h>

#include "config_test_support.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot {
namespace {

using ::testing::Not;

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> result;
  for (const auto& [key, _] : json.items()) result.push_back(key);
  return result;
}

// Drops what LeRobot 0.6.1 does not know from a file of a newer one.
Json as_0_6_1(Json config) {
  for (const char* key : {"checkpoint_format", "parallelism", "accelerator", "ema"}) config.erase(key);
  config["dataset"].erase("exclude_episodes");
  return config;
}

TEST_F(CommandLineTest, WritesLeRobotsTrainConfigToTheLetter) {
  const auto command = read({"--config_path=CFG.json"});
  EXPECT_EQ(to_python_json(to_train_config_json(*command.config)), to_python_json(as_0_6_1(read_json("CFG.json"))));
}

TEST_F(CommandLineTest, WritesLeRobotsPolicyConfigToTheLetter) {
  const auto command = read({"--dataset.repo_id=a/b", "--policy.path=pretrained_model"});
  command.config->policy->pretrained_path.reset();
  EXPECT_EQ(to_python_json(to_policy_config_json(*command.config->policy)),
            to_python_json(read_json("pretrained_model/config.json")));
}

TEST_F(CommandLineTest, WritesNewerFieldsOnlyWhereTheyDifferFromTheDefault) {
  const auto command = read(with(base_, {"--accelerator.mixed_precision=bf16", "--dataset.exclude_episodes=[1]"}));
  const Json json = to_train_config_json(*command.config);
  EXPECT_EQ(json["accelerator"]["mixed_precision"], "bf16");
  EXPECT_FALSE(json["accelerator"].contains("grad_scaler"));  // newer still
  EXPECT_EQ(json["dataset"]["exclude_episodes"], Json::array({1}));
  EXPECT_FALSE(json.contains("ema"));
  EXPECT_FALSE(json.contains("tf32"));
  const auto scaled = read(with(base_, {"--accelerator.grad_scaler.init_scale=1024"}));
  EXPECT_EQ(to_train_config_json(*scaled.config)["accelerator"]["grad_scaler"]["init_scale"], 1024.0);
}

TEST_F(CommandLineTest, ReadsBackEveryFieldThatItWrites) {
  const auto command =
      read(with(base_, {"--accelerator.mixed_precision=bf16", "--dataset.episodes=[3,1]", "--seed=null",
                        "--peft.target_modules=[a]", "--sample_weighting.extra_params={a: 1}", "--rename_map={x: y}",
                        "--tolerance_s=inf", "--job.tags=[ä]", "--policy.input_features={o: {type: STATE, shape: [2]}}",
                        "--optimizer.type=sgd", "--optimizer.momentum=0.5", "--scheduler.type=diffuser",
                        "--scheduler.num_warmup_steps=3", "--output_dir=x/y", "--parallelism.dp_shard=-1",
                        "--dataset.image_transforms.tfs={a: {type: RandomAffine, kwargs: {degrees: [0, 1.5]}}}"}));
  const Json written = to_train_config_json(*command.config);
  write("again.json", to_python_json(written));
  const auto again = read({"--config_path=again.json"});
  EXPECT_EQ(to_train_config_json(*again.config), written);
  EXPECT_EQ(config::to_json(*again.config), config::to_json(*command.config));
}

TEST_F(CommandLineTest, KeepsTf32OutOfTrainConfigButReadsItThere) {
  EXPECT_EQ(to_own_json(*read(base_).config)["tf32"], true);
  Json json = read_json("CFG.json");
  json["tf32"] = false;
  write("newer.json", to_python_json(json));
  EXPECT_EQ(read({"--config_path=newer.json"}).config->tf32, false);
  EXPECT_EQ(read(with(base_, {"--tf32=null"})).config->tf32, std::nullopt);
}

TEST_F(CommandLineTest, LetsATypedFlagWinOverOurRecord) {
  const Json record = {{"tf32", nullptr}, {"libtorch", "2.11.0"}};
  auto command = read(base_);
  read_own_json(record, command.typed, *command.config);
  EXPECT_EQ(command.config->tf32, std::nullopt);
  command = read(with(base_, {"--tf32=false"}));
  read_own_json(record, command.typed, *command.config);
  EXPECT_EQ(command.config->tf32, false);
}

TEST_F(CommandLineTest, RecordsOurFieldsOfSectionsToo) {
  const auto flags = [&](const std::vector<std::string>& more) {
    return with(with(base_, {"--env.type=pusht"}), more);
  };
  const auto recorded = read(flags({"--env.backend=python", "--eval.count_step_after_end=false"}));
  const Json record = to_own_json(*recorded.config);
  EXPECT_EQ(record["env"]["backend"], "python");
  EXPECT_FALSE(to_train_config_json(*recorded.config)["env"].contains("backend"));
  auto command = read(flags({"--eval.count_step_after_end=true"}));
  read_own_json(record, command.typed, *command.config);
  EXPECT_EQ(dynamic_cast<PushtEnvConfig&>(*command.config->env).backend, "python");
  EXPECT_TRUE(command.config->eval.count_step_after_end);
}

TEST_F(CommandLineTest, PutsTheTypeFirst) {
  const Json json = to_train_config_json(*read(with(base_, {"--optimizer.lr=1"})).config);
  EXPECT_EQ(keys(json["policy"])[0], "type");
  EXPECT_EQ(keys(json["optimizer"])[0], "type");
  EXPECT_EQ(keys(json)[0], "dataset");
}

}  // namespace
}  // namespace lerobot
