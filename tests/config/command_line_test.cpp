#include "lerobot/config/command_line.hpp"

#include <gmock/gmock.h>

#include "config_test_support.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(CommandLineTest, ReportsEveryProblemAtOnce) {
  const std::string error =
      error_of({"--dataset.repo_id=a/b", "--policy.type=act", "--steps=many", "--batch_size=0", "--nonsense=1",
                "--policy.chunk_size=0", "--wandb.enable=true", "--dataset.video_backend=vlc"});
  EXPECT_THAT(
      error, AllOf(HasSubstr("--steps: expected an integer, got 'many'"),
                   HasSubstr("--batch_size: must be at least 1, got 0"), HasSubstr("--nonsense: there is no such flag"),
                   HasSubstr("--policy.chunk_size: "), HasSubstr("--wandb.enable: 'true' is not implemented yet"),
                   HasSubstr("--dataset.video_backend: "), HasSubstr("--policy.push_to_hub")));
}

TEST_F(CommandLineTest, RequiresADataset) {
  EXPECT_THAT(error_of({"--policy.type=act", "--policy.push_to_hub=false"}), "--dataset.repo_id: is required");
}

TEST_F(CommandLineTest, SuggestsTheFlagThatWasMeant) {
  EXPECT_THAT(error_of(with(base_, {"--batch-size=7"})), HasSubstr("Did you mean --batch_size?"));
  EXPECT_THAT(error_of(with(base_, {"--batch_siz=7"})), HasSubstr("Did you mean --batch_size?"));
  EXPECT_THAT(error_of(with(base_, {"--chunk_size=7"})), HasSubstr("Did you mean --policy.chunk_size?"));
  EXPECT_THAT(error_of(with(base_, {"--repo_id=a/b"})),
              HasSubstr("Did you mean --dataset.repo_id or --policy.repo_id?"));
  EXPECT_THAT(error_of(with(base_, {"--eval_freq=5"})), HasSubstr("Did you mean --env_eval_freq?"));
  EXPECT_THAT(error_of(with(base_, {"--xyzzyxyzzy=5"})), Not(HasSubstr("Did you mean")));
}

TEST_F(CommandLineTest, NamesTheFileAndTheNearestFieldOfAnUnknownKey) {
  EXPECT_THAT(error_of({"--config_path=c5.json", "--policy.push_to_hub=false"}),
              HasSubstr("--stepz: there is no such field. Did you mean `steps`? (in c5.json: "));
}

TEST_F(CommandLineTest, SaysWhichPoliciesAreHereWhenOneIsNot) {
  EXPECT_EQ(error_of({"--dataset.repo_id=a/b", "--policy.type=diffusion", "--policy.num_inference_steps=10"}),
            "--policy.type: 'diffusion' is LeRobot's but not implemented here yet; here are act");
  EXPECT_THAT(error_of({"--dataset.repo_id=a/b", "--policy.type=atc"}), HasSubstr("there is no type 'atc'"));
  EXPECT_THAT(error_of(with(base_, {"--optimizer.type=multi_adam"})),
              HasSubstr("'multi_adam' is LeRobot's but not implemented here yet; here are adam, adamw, sgd"));
}

TEST_F(CommandLineTest, SaysToWhichTypeAFieldDoesNotBelong) {
  EXPECT_EQ(error_of(with(base_, {"--optimizer.type=adam", "--optimizer.momentum=0.9"})),
            "--optimizer.momentum: there is no such field of type 'adam'.");
}

TEST_F(CommandLineTest, RefusesPathsThatAreEmptyOrGivenTwice) {
  EXPECT_THAT(error_of(with(base_, {"--config_path="})), HasSubstr("--config_path: is empty"));
  EXPECT_THAT(error_of({"--config_path=c4", "--config_path=CFG.json"}), HasSubstr("--config_path: is given twice"));
  EXPECT_THAT(error_of(with(base_, {"--job_name=\xff"})), HasSubstr("argument 5: not valid UTF-8"));
}

TEST_F(CommandLineTest, AcceptsNoAsAPrecision) {
  EXPECT_EQ(parse(with(base_, {"--accelerator.mixed_precision=no"})).config->accelerator.mixed_precision, "no");
  EXPECT_EQ(parse(with(base_, {"--accelerator.mixed_precision='no'"})).config->accelerator.mixed_precision, "no");
}

TEST_F(CommandLineTest, TakesEachFlagOnceForTheLastOne) {
  const auto command = parse(with(base_, {"--steps=1", "--seed", "7", "--steps", "2"}));
  EXPECT_EQ(command.config->steps, 2);
  EXPECT_THAT(command.typed,
              ElementsAre("dataset.repo_id", "policy.device", "policy.push_to_hub", "policy.type", "seed", "steps"));
}

TEST_F(CommandLineTest, LetsTheCommandLineWinOverTheFileKeyByKey) {
  write("run.yaml",
        "dataset: {repo_id: a/b, episodes: [0, 1]}\n"
        "policy: {type: act, push_to_hub: no, dim_model: 64}\n"
        "steps: 5\n"
        "job: {tags: [a]}\n");
  const auto command = parse({"--config_path=run.yaml", "--policy.dim_model=128", "--dataset={\"episodes\": [2]}"});
  EXPECT_EQ(config::to_json(*command.config->policy)["dim_model"], 128);
  EXPECT_EQ(config::to_json(*command.config->policy)["push_to_hub"], false);
  EXPECT_EQ(command.config->dataset.repo_id, "a/b");
  EXPECT_THAT(*command.config->dataset.episodes, ElementsAre(2));
  EXPECT_EQ(command.config->steps, 5);
  EXPECT_EQ(command.config_path, "run.yaml");
  EXPECT_EQ(command.file->at("policy").at("dim_model"), 64);
}

TEST_F(CommandLineTest, ReadsYamlMergeKeysAndAnchors) {
  write("run.yaml",
        "dataset: {repo_id: a/b}\n"
        "eval: &e {n_episodes: 7, use_async_envs: off}\n"
        "policy: {type: act, push_to_hub: off}\n"
        "wandb: {mode: !!str off}\n");
  const auto command = parse({"--config_path=run.yaml"});
  EXPECT_EQ(command.config->eval.n_episodes, 7);
  EXPECT_FALSE(command.config->eval.use_async_envs);
  EXPECT_EQ(command.config->wandb.mode, "off");
  write("merge.yaml", "base: &b {n_episodes: 7, use_async_envs: off}\neval: {<<: *b, n_episodes: 9}\n");
  const std::string error = error_of({"--config_path=merge.yaml"});
  EXPECT_THAT(error, HasSubstr("--base: there is no such field"));
  EXPECT_THAT(error, Not(HasSubstr("--eval")));
}

TEST_F(CommandLineTest, StartsFromTheConfigOfATrainedPolicy) {
  const auto command = parse({"--dataset.repo_id=a/b", "--policy.path=pretrained_model", "--policy.kl_weight=2"});
  EXPECT_EQ(command.policy_path, "pretrained_model");
  EXPECT_EQ(command.config->policy->pretrained_path, "pretrained_model");
  const Json policy = to_policy_config_json(*command.config->policy);
  EXPECT_EQ(policy["dim_model"], 32);   // the folder's
  EXPECT_EQ(policy["kl_weight"], 2.0);  // the flag's
}

TEST_F(CommandLineTest, TakesPathAndOverridesOfAPolicyFromAFile) {
  write("run.yaml", "dataset: {repo_id: a/b}\npolicy: {path: pretrained_model, kl_weight: 3, dropout: 0.5}\n");
  const auto command = parse({"--config_path=run.yaml", "--policy.dropout=0.25"});
  const Json policy = to_policy_config_json(*command.config->policy);
  EXPECT_EQ(policy["pretrained_path"], "pretrained_model");
  EXPECT_EQ(policy["kl_weight"], 3.0);
  EXPECT_EQ(policy["dropout"], 0.25);
}

TEST_F(CommandLineTest, LetsATypedPolicyPathReplaceThePolicyOfTheFile) {
  const auto command = parse({"--config_path=CFG.json", "--policy.path=pretrained_model"});
  EXPECT_TRUE(command.config->policy->image_features().empty());  // those of the folder, not of CFG.json
}

TEST_F(CommandLineTest, RefusesTypeBesidePath) {
  EXPECT_THAT(error_of({"--dataset.repo_id=a/b", "--policy.path=pretrained_model", "--policy.type=act"}),
              HasSubstr("--policy.type: and --policy.path exclude each other"));
}

TEST_F(CommandLineTest, SaysWhatAPathLacks) {
  std::filesystem::create_directories("step");
  std::filesystem::rename("pretrained_model", "step/pretrained_model");
  EXPECT_THAT(error_of({"--dataset.repo_id=a/b", "--policy.path=step"}),
              AllOf(HasSubstr("there is no config.json in 'step'"), HasSubstr("Did you mean step/pretrained_model?")));
  EXPECT_THAT(error_of({"--dataset.repo_id=a/b", "--policy.path=step/pretrained_model/config.json"}),
              HasSubstr("Did you mean step/pretrained_model?"));
  std::filesystem::create_directories("run/checkpoints");
  std::filesystem::rename("step", "run/checkpoints/last");
  EXPECT_THAT(error_of({"--dataset.repo_id=a/b", "--policy.path=run"}),
              HasSubstr("Did you mean run/checkpoints/last/pretrained_model?"));
}

TEST_F(CommandLineTest, ReadsTheOldKeysOfSampleWeighting) {
  const auto command = read({"--config_path=c6.json"});
  EXPECT_EQ(command.config->sample_weighting->kappa, 0.5);
}

TEST_F(CommandLineTest, WarnsThatThePresetOverridesTheOptimizer) {
  const auto command = parse(with(base_, {"--optimizer.lr=0.5"}));
  EXPECT_EQ(command.config->optimizer->type(), "adamw");
  EXPECT_THAT(command.warnings, ElementsAre(HasSubstr("--optimizer: has no effect")));
  EXPECT_THAT(parse(base_).warnings, IsEmpty());
}

TEST_F(CommandLineTest, WarnsAboutFlagsOfWhatIsOff) {
  EXPECT_THAT(parse(with(base_, {"--ema.decay=0.9"})).warnings,
              ElementsAre(HasSubstr("--ema.decay: has no effect without --ema.enable")));
  EXPECT_THAT(parse(with(base_, {"--env_eval_freq=100"})).warnings,
              ElementsAre(HasSubstr("--env_eval_freq: has no effect without --env.type")));
  EXPECT_THAT(parse(with(base_, {"--wandb.project=robots"})).warnings, ElementsAre(HasSubstr("--wandb.enable")));
  EXPECT_THAT(parse(with(base_, {"--dataset.root=data", "--dataset.revision=main"})).warnings,
              ElementsAre(HasSubstr("--dataset.revision: has no effect with --dataset.root")));
  const Args own_optimizer = {"--use_policy_training_preset=false", "--optimizer.type=adam",
                              "--scheduler.type=diffuser", "--scheduler.num_warmup_steps=5",
                              "--policy.optimizer_lr=1e-4"};
  EXPECT_THAT(parse(with(base_, own_optimizer)).warnings,
              ElementsAre(HasSubstr("--policy.optimizer_lr: has no effect without --use_policy_training_preset")));
  EXPECT_THAT(parse(with(base_, {"--env_eval_freq=0", "--ema.enable=false"})).warnings, IsEmpty());
}

TEST_F(CommandLineTest, WarnsWhenNoUpdateWillBeMade) {
  EXPECT_THAT(parse(with(base_, {"--steps=20", "--accelerator.gradient_accumulation.steps=21"})).warnings,
              ElementsAre(HasSubstr("--steps=20 end before the first")));
}

TEST_F(CommandLineTest, RefusesAnEmptyOutputDirAndABatchBeyondCounting) {
  EXPECT_THAT(error_of(with(base_, {"--output_dir="})), HasSubstr("--output_dir: is empty; give a folder"));
  EXPECT_THAT(error_of(with(base_, {"--batch_size=9223372036854775807"})), HasSubstr("--batch_size: must be at most"));
}

TEST_F(CommandLineTest, RefusesNormalizationOfUnknownTypes) {
  EXPECT_THAT(error_of(with(base_, {R"(--policy.normalization_mapping={"STAT": "MEAN_STD", "action": "MIN_MAX"})"})),
              AllOf(HasSubstr("--policy.normalization_mapping: `STAT` is no type of features"),
                    HasSubstr("Did you mean `STATE`?"), HasSubstr("`action` is no type")));
}

TEST_F(CommandLineTest, ReportsABadNumberOfEpisodesOnce) {
  EXPECT_EQ(error_of(with(base_, {"--eval.n_episodes=-1", "--eval.batch_size=2"})),
            "--eval.n_episodes: must not be negative, got -1");
}

// The file's fields are those of its own type.
TEST_F(CommandLineTest, BlamesTheTypeThatWasTypedForFieldsOfTheFile) {
  EXPECT_THAT(error_of({"--config_path=CFG.json", "--optimizer.type=sgd"}),
              AllOf(HasSubstr("it belongs to another type than the --optimizer.type given here"),
                    Not(HasSubstr("a field of a newer LeRobot"))));
}

TEST_F(CommandLineTest, DropsNegativeExcludedEpisodesWithAWarning) {
  const auto command = parse(with(base_, {"--dataset.exclude_episodes=[-1,2]"}));
  EXPECT_THAT(*command.config->dataset.exclude_episodes, ElementsAre(2));
  EXPECT_THAT(command.warnings, ElementsAre(HasSubstr("ignored -1")));
}

TEST_F(CommandLineTest, RefusesIntegersBeyond64Bits) {
  EXPECT_THAT(error_of(with(base_, {"--steps=99999999999999999999"})), HasSubstr("--steps"));
  EXPECT_THAT(error_of(with(base_, {"--steps=0xFFFFFFFFFFFFFFFFF"})), HasSubstr("not an integer of 64 bits"));
}

TEST_F(CommandLineTest, AcceptsZeroAndOneForADilationThatLeRobotWritesAsInt) {
  const auto command = read({"--config_path=CFG.json", "--policy.replace_final_stride_with_dilation=0"});
  EXPECT_EQ(to_policy_config_json(*command.config->policy)["replace_final_stride_with_dilation"], false);
}

}  // namespace
}  // namespace lerobot
