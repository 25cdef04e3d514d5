#include <gmock/gmock.h>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler_configs.hpp"

namespace lerobot::optim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> problems_of(const config::Section& section) {
  config::Problems problems;
  section.validate(problems);
  return problems.lines();
}

TEST(OptimizerConfigs, ListTheirFieldsInLeRobotsFileOrder) {
  AdamConfig adam;
  AdamWConfig adamw;
  SGDConfig sgd;
  EXPECT_THAT(config::field_names(adam), ElementsAre("lr", "weight_decay", "grad_clip_norm", "betas", "eps"));
  EXPECT_THAT(config::field_names(adamw), ElementsAre("lr", "weight_decay", "grad_clip_norm", "betas", "eps"));
  EXPECT_THAT(config::field_names(sgd),
              ElementsAre("lr", "weight_decay", "grad_clip_norm", "momentum", "dampening", "nesterov"));
}

TEST(OptimizerConfigs, HaveLeRobotsDefaults) {
  EXPECT_EQ(to_python_json(config::to_json(AdamConfig()), {.indent = -1}),
            R"({"lr": 0.001, "weight_decay": 0.0, "grad_clip_norm": 10.0, "betas": [0.9, 0.999], "eps": 1e-08})");
  EXPECT_EQ(to_python_json(config::to_json(AdamWConfig()), {.indent = -1}),
            R"({"lr": 0.001, "weight_decay": 0.01, "grad_clip_norm": 10.0, "betas": [0.9, 0.999], "eps": 1e-08})");
  EXPECT_EQ(to_python_json(config::to_json(SGDConfig()), {.indent = -1}),
            R"({"lr": 0.001, "weight_decay": 0.0, "grad_clip_norm": 10.0, "momentum": 0.0, "dampening": 0.0, )"
            R"("nesterov": false})");
}

TEST(OptimizerConfigs, AreValidByDefault) {
  EXPECT_THAT(problems_of(AdamConfig()), IsEmpty());
  EXPECT_THAT(problems_of(AdamWConfig()), IsEmpty());
  EXPECT_THAT(problems_of(SGDConfig()), IsEmpty());
}

TEST(OptimizerConfigs, RefuseValuesTorchRefuses) {
  AdamWConfig adam;
  adam.lr = -1;
  adam.betas = {1.0, -0.1};
  adam.eps = -1;
  EXPECT_THAT(problems_of(adam),
              ElementsAre(HasSubstr("--lr"), HasSubstr("--betas"), HasSubstr("--betas"), HasSubstr("--eps")));
  SGDConfig sgd;
  sgd.nesterov = true;
  EXPECT_THAT(problems_of(sgd), ElementsAre(HasSubstr("--nesterov")));
  sgd.momentum = -0.5;
  EXPECT_THAT(problems_of(sgd), ElementsAre(HasSubstr("--momentum"), HasSubstr("--nesterov")));
}

TEST(OptimizerConfigs, AreChosenByType) {
  const auto registry = register_optimizers();
  EXPECT_THAT(registry.names(), ElementsAre("adam", "adamw", "sgd"));
  EXPECT_EQ(registry.default_type(), "adam");
  for (const std::string& name : registry.names()) {
    EXPECT_EQ(registry.make(name)->type(), name);
    EXPECT_EQ(registry.make(name)->clone()->type(), name);
  }
}

TEST(SchedulerConfigs, AreChosenByType) {
  const auto registry = register_schedulers();
  EXPECT_THAT(registry.names(), ElementsAre("diffuser", "vqbet", "constant_with_warmup", "cosine_annealing_with_warmup",
                                            "cosine_decay_with_warmup"));
  for (const std::string& name : registry.names()) {
    EXPECT_EQ(registry.make(name)->type(), name);
    EXPECT_EQ(registry.make(name)->clone()->type(), name);
  }
}

TEST(SchedulerConfigs, AreWrittenInLeRobotsOrder) {
  EXPECT_EQ(to_python_json(config::to_json(DiffuserSchedulerConfig()), {.indent = -1}),
            R"({"num_warmup_steps": null, "name": "cosine"})");
  CosineDecayWithWarmupSchedulerConfig config;
  EXPECT_THAT(config::field_names(config), ElementsAre("num_warmup_steps", "num_decay_steps", "peak_lr", "decay_lr"));
}

TEST(SchedulerConfigs, NameTheFieldsThatMustBeGiven) {
  CosineDecayWithWarmupSchedulerConfig config;
  config::Problems problems;
  config::read_section(parse_json(R"({"peak_lr": 1e-3})", ""), config, problems);
  EXPECT_THAT(problems.lines(), testing::Not(IsEmpty()));
  std::string text;
  for (const std::string& line : problems.lines()) text += line;
  EXPECT_THAT(text, AllOf(HasSubstr("num_warmup_steps"), HasSubstr("num_decay_steps"), HasSubstr("decay_lr")));
}

TEST(SchedulerConfigs, RefuseAnUnknownOrImpossibleDiffuserName) {
  DiffuserSchedulerConfig config;
  config.num_warmup_steps = 5;
  EXPECT_THAT(problems_of(config), IsEmpty());
  config.name = "cosin";
  EXPECT_THAT(problems_of(config), ElementsAre(AllOf(HasSubstr("--name"), HasSubstr("Did you mean `cosine`"))));
  config.name = "piecewise_constant";
  EXPECT_THAT(problems_of(config), ElementsAre(HasSubstr("step rules")));
}

TEST(SchedulerConfigs, NeedWarmupStepsForEveryDiffuserNameButConstant) {
  DiffuserSchedulerConfig config;
  EXPECT_THAT(problems_of(config), ElementsAre(HasSubstr("--num_warmup_steps")));
  config.name = "constant";
  EXPECT_THAT(problems_of(config), IsEmpty());
}

}  // namespace
}  // namespace lerobot::optim
