#include <gmock/gmock.h>

#include "config_test_support.hpp"

namespace lerobot {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CommandLineTest, HelpIsScopedToTheChosenTypes) {
  const std::string all = parse({"--help"}).help_text;
  EXPECT_THAT(
      all, AllOf(HasSubstr("--policy.type"), HasSubstr("--policy.path"), HasSubstr("--batch_size"), HasSubstr("--tf32"),
                 HasSubstr("--config_path"), HasSubstr("--accelerator.grad_scaler.init_scale")));
  EXPECT_THAT(all, AllOf(Not(HasSubstr("--policy.chunk_size")), Not(HasSubstr("--optimizer.betas")),
                         Not(HasSubstr("--checkpoint_path"))));
  const std::string act = parse({"--policy.type=act", "-h", "--optimizer.type", "sgd"}).help_text;
  EXPECT_THAT(act, AllOf(HasSubstr("--policy.chunk_size"), HasSubstr("--optimizer.momentum"),
                         Not(HasSubstr("--optimizer.betas"))));
}

TEST_F(CommandLineTest, HelpShowsDefaultsAndMarksWhatIsNotImplemented) {
  const std::string help = parse({"--help"}).help_text;
  EXPECT_THAT(help, ContainsRegex("--batch_size int = 8 +Samples in a batch\n"));
  EXPECT_THAT(help, ContainsRegex("--wandb.enable bool = false +[^\n]*\\(not yet\\)\n"));
  EXPECT_THAT(help, ContainsRegex("--dataset.repo_id str \\(required\\)"));
}

// Every flag that LeRobot 0.6.2-dev lists for ACT exists here.
TEST_F(CommandLineTest, HelpListsEveryFlagOfLeRobot) {
  const std::string help = parse({"--help", "--policy.type=act"}).help_text;
  std::ifstream flags("act_flags.txt");
  size_t count = 0;
  for (std::string flag; std::getline(flags, flag); ++count)
    EXPECT_NE(help.find("\n  " + flag + " "), std::string::npos) << flag;
  EXPECT_GT(count, 100u);
}

TEST_F(CommandLineTest, HelpNeedsNothingElseToBeRight) {
  const auto command = parse({"--steps=nonsense", "--help", "--unknown"});
  EXPECT_TRUE(command.help);
  EXPECT_EQ(command.config, nullptr);
}

}  // namespace
}  // namespace lerobot
