// What completes a configuration and what speaks against one.
#include <gmock/gmock.h>

#include "config_test_support.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(CommandLineTest, RefusesWhatIsNotImplementedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"--dataset.streaming=true", "--dataset.streaming: 'true' is not implemented yet; leave it at false"},
      {"--wandb.enable=true", "--wandb.enable"},
      {"--peft.r=8", "--peft: is not implemented yet; leave it out"},
      {"--policy.use_peft=true", "--policy.use_peft"},
      {"--job.target=a10g", "--job.target"},
      {"--save_checkpoint_to_hub=true", "--save_checkpoint_to_hub"},
      {"--checkpoint_format=dcp", "--checkpoint_format: 'dcp' is for sharded runs"},
      {"--sample_weighting.type=rabc", "--sample_weighting"},
      {"--reward_model.type=sarm", "--reward_model.type"},
      {"--env.type=libero", "--env.type: 'libero' is LeRobot's but not implemented here yet"},
      {"--parallelism.dp_shard=-1", "--parallelism.dp_shard"},
      {"--parallelism.context_parallel.ulysses_degree=2", "--parallelism.context_parallel.ulysses_degree"},
      {"--accelerator.compile.enabled=true", "--accelerator.compile.enabled: 'true'"},
      {"--accelerator.fsdp.cpu_offload=true", "--accelerator.fsdp.cpu_offload"},
      {"--accelerator.ddp.static_graph=true", "--accelerator.ddp.static_graph"},
      {"--accelerator.activation_checkpointing.mode=full", "--accelerator.activation_checkpointing.mode: 'full'"},
  };
  for (const auto& [flag, message] : cases) {
    SCOPED_TRACE(flag);
    EXPECT_THAT(error_of(with(base_, {flag})), HasSubstr(message));
  }
}

TEST_F(CommandLineTest, NamesBothWaysOutOfPushingToTheHub) {
  const Args args = {"--dataset.repo_id=a/b", "--policy.type=act"};
  EXPECT_THAT(error_of(args), AllOf(HasSubstr("--policy.push_to_hub=false"), HasSubstr("--policy.repo_id")));
  EXPECT_THAT(error_of(with(args, {"--policy.repo_id=me/act"})),
              AllOf(HasSubstr("'me/act' is not implemented yet"), HasSubstr("--policy.push_to_hub=false")));
}

TEST_F(CommandLineTest, RefusesAnExistingOutputDirUnlessItResumes) {
  std::filesystem::create_directory("out");
  EXPECT_THAT(error_of(with(base_, {"--output_dir=out"})), "--output_dir: 'out' exists already; choose another folder");
  std::filesystem::create_directory("out/checkpoints");
  EXPECT_THAT(error_of(with(base_, {"--output_dir=out"})),
              AllOf(StartsWith("--output_dir: 'out' exists already"), HasSubstr("--resume=true --config_path=out")));
  EXPECT_EQ(error_of({"--config_path=CFG.json", "--resume=true", "--output_dir=out"}), "");
  write("file", "");
  EXPECT_THAT(error_of(with(base_, {"--output_dir=file"})), HasSubstr("is not a folder"));
}

TEST_F(CommandLineTest, NeedsAConfigFileToResumeAndNoOtherPolicy) {
  EXPECT_THAT(error_of(with(base_, {"--resume=true"})), StartsWith("--resume: true needs --config_path="));
  EXPECT_THAT(error_of({"--config_path=CFG.json", "--policy.path=pretrained_model", "--resume=true"}),
              HasSubstr("--resume: true and --policy.path exclude each other"));
}

TEST_F(CommandLineTest, NeedsOptimizerAndSchedulerWithoutThePreset) {
  const Args args = with(base_, {"--use_policy_training_preset=false", "--optimizer.type=sgd"});
  EXPECT_THAT(error_of(args), StartsWith("--scheduler.type: must be given"));
  const auto command = parse(with(args, {"--scheduler.type=constant_with_warmup"}));
  EXPECT_EQ(command.config->optimizer->type(), "sgd");
  EXPECT_EQ(command.config->scheduler->type(), "constant_with_warmup");
}

TEST_F(CommandLineTest, TakesThePresetOfThePolicy) {
  const auto command = parse(with(base_, {"--policy.optimizer_lr=0.25"}));
  EXPECT_EQ(command.config->optimizer->type(), "adamw");
  EXPECT_EQ(command.config->optimizer->lr, 0.25);
  EXPECT_FALSE(command.config->scheduler);
}

TEST_F(CommandLineTest, ChecksTheGradScalerWhateverThePrecision) {
  const std::string error = error_of(
      with(base_, {"--accelerator.grad_scaler.init_scale=nan", "--accelerator.grad_scaler.growth_factor=1",
                   "--accelerator.grad_scaler.backoff_factor=1", "--accelerator.grad_scaler.growth_interval=0"}));
  for (const char* field : {"init_scale", "growth_factor", "backoff_factor", "growth_interval"})
    EXPECT_THAT(error, HasSubstr(std::string("--accelerator.grad_scaler.") + field + ": must be"));
}

TEST(EvalConfig, ChoosesItsBatchSizeAsLeRobotDoes) {
  const auto resolved = [](int64_t batch_size, int64_t n_episodes, int64_t cores) {
    EvalConfig config;
    config.batch_size = batch_size;
    config.n_episodes = n_episodes;
    config.resolve(cores);
    return config.batch_size;
  };
  EXPECT_EQ(resolved(0, 50, 1), 1);
  EXPECT_EQ(resolved(0, 50, 16), 11);
  EXPECT_EQ(resolved(0, 50, 100), 50);
  EXPECT_EQ(resolved(0, 500, 1000), 64);
  EXPECT_EQ(resolved(100, 50, 16), 50);
}

}  // namespace
}  // namespace lerobot
