#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lerobot/core/error.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler.hpp"
#include "support/torch.hpp"

namespace lerobot::optim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::string kData = LEROBOT_TEST_DATA "/optim/";
const std::string kLeRobotState = kData + "lerobot_state/";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

AdamWConfig adamw(double lr, double weight_decay) {
  AdamWConfig config;
  config.lr = lr;
  config.weight_decay = weight_decay;
  return config;
}

CosineDecayWithWarmupSchedulerConfig cosine_decay(int64_t warmup, int64_t decay) {
  CosineDecayWithWarmupSchedulerConfig config;
  config.num_warmup_steps = warmup;
  config.num_decay_steps = decay;
  config.peak_lr = 1e-3;
  config.decay_lr = 1e-4;
  return config;
}

// The run that wrote lerobot_state/, at its step 3 but for the state.
struct LeRobotRun {
  std::vector<torch::Tensor> params;
  std::optional<Optimizer> optimizer;
  std::optional<Scheduler> scheduler;

  LeRobotRun() {
    const TensorMap before = load_safetensors(kLeRobotState + "continued.safetensors");
    for (int i = 0; i < 3; ++i) params.push_back(before.at("before/" + std::to_string(i)).clone().requires_grad_());
    optimizer.emplace(adamw(0.01, 0.1),
                      std::vector<ParamGroup>{{{params[0], params[1]}, std::nullopt}, {{params[2]}, 0.003}});
    scheduler.emplace(cosine_decay(2, 10), *optimizer, 10);
  }

  void load() {
    optimizer->load_state_tensors(load_safetensors(kLeRobotState + "optimizer_state.safetensors"), "optimizer_state");
    optimizer->load_param_groups(read_json(kLeRobotState + "optimizer_param_groups.json"), "optimizer_param_groups");
    scheduler->load_state_dict(read_json(kLeRobotState + "scheduler_state.json"), "scheduler_state");
  }

  void step(int t) {
    const TensorMap golden = load_safetensors(kData + "optimizers.safetensors");
    for (int i = 0; i < 3; ++i) {
      const auto found = golden.find(fmt::format("grad/{}/{}", t, i));
      params[i].mutable_grad() = found == golden.end() ? torch::Tensor() : found->second.clone();
    }
    optimizer->step();
    scheduler->step();
  }
};

TEST(OptimizerState, WritesBackWhatLeRobotWroteByteForByte) {
  LeRobotRun run;
  run.load();
  EXPECT_EQ(to_python_json(run.optimizer->param_groups_json()), text_of(kLeRobotState + "optimizer_param_groups.json"));
  EXPECT_EQ(to_python_json(run.scheduler->state_dict()), text_of(kLeRobotState + "scheduler_state.json"));
  const auto path = std::filesystem::temp_directory_path() / "lerobot_optimizer_state_test.safetensors";
  save_safetensors(local_file_system(), path, run.optimizer->state_tensors());
  EXPECT_EQ(text_of(path.string()), text_of(kLeRobotState + "optimizer_state.safetensors"));
  std::filesystem::remove(path);
}

TEST(OptimizerState, ContinuesLeRobotsRun) {
  LeRobotRun run;
  run.load();
  run.step(3);
  run.step(4);
  const TensorMap golden = load_safetensors(kLeRobotState + "continued.safetensors");
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(torch::allclose(run.params[i].detach(), golden.at("after/" + std::to_string(i)), 2e-6, 1e-7)) << i;
}

TEST(OptimizerState, MakesAResumedRunEqualTheUninterruptedOneExactly) {
  LeRobotRun whole;
  whole.load();
  whole.step(3);
  LeRobotRun resumed;
  torch::NoGradGuard no_grad;
  for (int i = 0; i < 3; ++i) resumed.params[i].copy_(whole.params[i]);
  resumed.optimizer->load_state_tensors(whole.optimizer->state_tensors(), "s");
  resumed.optimizer->load_param_groups(parse_json(to_python_json(whole.optimizer->param_groups_json()), "g"), "g");
  resumed.scheduler->load_state_dict(parse_json(to_python_json(whole.scheduler->state_dict()), "s"), "s");
  for (const int t : {4, 5}) {
    whole.step(t);
    resumed.step(t);
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(torch::equal(whole.params[i], resumed.params[i]));
  EXPECT_EQ(whole.scheduler->last_lr(), resumed.scheduler->last_lr());
}

TEST(OptimizerState, KeepsItsOwnCopyOfTheLoadedTensors) {
  LeRobotRun run;
  TensorMap tensors = load_safetensors(kLeRobotState + "optimizer_state.safetensors");
  run.optimizer->load_state_tensors(tensors, "s");
  tensors.at("state/0/exp_avg").zero_();
  EXPECT_NE(run.optimizer->state_tensors().at("state/0/exp_avg").abs().sum().item<float>(), 0.0f);
}

// The layout of a checkpoint that `lerobot-train` wrote: 61 parameters in one group, ten steps of a schedule.
TEST(OptimizerState, HasTheLayoutOfALeRobotCheckpoint) {
  std::vector<torch::Tensor> params;
  for (int i = 0; i < 61; ++i) params.push_back(torch::zeros({1}).requires_grad_());
  Optimizer optimizer(adamw(1e-3, 1e-4), {{params, std::nullopt}});
  Scheduler scheduler(cosine_decay(3, 10), optimizer, 10);
  for (int i = 0; i < 10; ++i) scheduler.step();
  EXPECT_EQ(to_python_json(optimizer.param_groups_json()), text_of(kData + "lerobot_checkpoint_param_groups.json"));
  EXPECT_EQ(to_python_json(scheduler.state_dict()), text_of(kData + "lerobot_checkpoint_scheduler_state.json"));
}

TEST(OptimizerState, WritesSgdsKeysAndNoTensorsWithoutMomentum) {
  auto param = torch::zeros({2}).requires_grad_();
  Optimizer optimizer(SGDConfig(), {{{param}, std::nullopt}});
  param.mutable_grad() = torch::ones({2});
  optimizer.step();
  EXPECT_TRUE(optimizer.state_tensors().empty());
  EXPECT_EQ(to_python_json(optimizer.param_groups_json(), {.indent = -1}),
            R"([{"lr": 0.001, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": false, )"
            R"("maximize": false, "foreach": null, "differentiable": false, "fused": null, "params": [0]}])");
}

TEST(OptimizerState, KeepsAnEmptyGroup) {
  auto param = torch::zeros({2}).requires_grad_();
  Optimizer optimizer(AdamConfig(), {{{param}, std::nullopt}, {{}, 1e-5}});
  const Json groups = optimizer.param_groups_json();
  EXPECT_EQ(groups[1]["params"], Json::array());
  EXPECT_EQ(groups[1]["lr"], 1e-5);
  EXPECT_EQ(groups[0]["decoupled_weight_decay"], false);
  EXPECT_FALSE(groups[0].contains("initial_lr"));
  EXPECT_NO_THROW(optimizer.load_param_groups(groups, "g"));
}

TEST(OptimizerState, LetsTheFileBeatTheConfiguration) {
  LeRobotRun run;
  Json groups = read_json(kLeRobotState + "optimizer_param_groups.json");
  groups[1]["lr"] = 0.5;
  groups[1]["betas"][0] = 0.25;
  run.optimizer->load_param_groups(groups, "g");
  EXPECT_EQ(run.optimizer->lr(1), 0.5);
  EXPECT_EQ(run.optimizer->param_groups_json(), groups);
}

TEST(OptimizerState, RefusesGroupsOfAnotherShapeAndNamesThePlace) {
  const Json good = read_json(kLeRobotState + "optimizer_param_groups.json");
  const auto refused = [&](const std::function<void(Json&)>& spoil, const std::string& place) {
    LeRobotRun run;
    const Json before = run.optimizer->param_groups_json();
    Json groups = good;
    spoil(groups);
    EXPECT_THAT([&] { run.optimizer->load_param_groups(groups, "groups.json"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("groups.json"), HasSubstr(place))));
    EXPECT_EQ(run.optimizer->param_groups_json(), before);
  };
  refused([](Json& g) { g[1]["weight_decay"] = 0; }, "[1].weight_decay: expected a number with a decimal point, got 0");
  refused([](Json& g) { g[0]["fused"] = true; }, "[0].fused: expected null");
  refused([](Json& g) { g[0].erase("initial_lr"); }, "`initial_lr` is missing: the checkpoint was written without");
  refused([](Json& g) { g[0]["momentum"] = 0.0; }, "[0]: unknown key `momentum`");
  refused([](Json& g) { g[0]["betas"].push_back(0.5); }, "[0].betas: expected a list of 2, got 3");
  refused([](Json& g) { g[1]["params"].push_back(3); }, "[1].params");
  refused([](Json& g) { g[1]["params"][0] = 7; }, "[1].params");
  refused([](Json& g) { g[1]["amsgrad"] = true; }, "[1].amsgrad");
  refused([](Json& g) { g[0]["decoupled_weight_decay"] = false; }, "[0].decoupled_weight_decay");
  refused([](Json& g) { g.erase(1); }, "expected a list of 2, got 1");
  refused([](Json& g) { g = Json::object(); }, "expected a list");
}

TEST(OptimizerState, RefusesTensorsThatDoNotFitAndNamesTheEntry) {
  const TensorMap good = load_safetensors(kLeRobotState + "optimizer_state.safetensors");
  const auto refused = [&](const std::function<void(TensorMap&)>& spoil, const std::string& entry) {
    LeRobotRun run;
    TensorMap tensors = good;
    spoil(tensors);
    EXPECT_THAT([&] { run.optimizer->load_state_tensors(tensors, "state.safetensors"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("state.safetensors"), HasSubstr(entry))));
    EXPECT_TRUE(run.optimizer->state_tensors().empty());
  };
  refused([](TensorMap& t) { t.erase("state/1/exp_avg_sq"); }, "`state/1/exp_avg_sq` is missing");
  refused([](TensorMap& t) { t.erase("state/1/step"); }, "`state/1/step` is missing");
  refused([](TensorMap& t) { t["state/2/exp_avg"] = torch::zeros({5}); }, "`state/2/exp_avg` has shape [5]");
  refused([](TensorMap& t) { t["state/0/exp_avg"] = torch::zeros({3, 4}, torch::kLong); }, "not a floating-point");
  refused([](TensorMap& t) { t["state/3/step"] = torch::zeros({}); }, "unknown entry `state/3/step`");
  refused([](TensorMap& t) { t["state/0/momentum_buffer"] = torch::zeros({3, 4}); }, "state/0/momentum_buffer");
}

TEST(OptimizerState, LetsParametersBeWithoutState) {
  LeRobotRun run;
  TensorMap tensors = load_safetensors(kLeRobotState + "optimizer_state.safetensors");
  for (const char* name : {"exp_avg", "exp_avg_sq", "step"}) tensors.erase(std::string("state/2/") + name);
  run.optimizer->load_state_tensors(tensors, "s");
  EXPECT_EQ(run.optimizer->state_tensors().size(), 6u);
}

}  // namespace
}  // namespace lerobot::optim
