#include "lerobot/checkpoint/training_state.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "checkpoint_content.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "support/temporary_directory.hpp"
#include "support/torch.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A copy of the golden checkpoint, to break.
class TrainingStateFiles : public testing::Test {
 protected:
  TrainingStateFiles() { fs::copy(golden_step(), step_, fs::copy_options::recursive); }

  void replace(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }
  fs::path file(const std::string& name) const { return step_ / "training_state" / name; }
  auto loading(LoadOptions options = {}) const {
    return [this, options] { load_training_state(step_, options); };
  }

  testing_support::TemporaryDirectory directory_;
  fs::path step_ = directory_.path() / "000010";
};

TEST_F(TrainingStateFiles, ReadsLeRobotsCheckpoint) {
  const TrainingState state = load_training_state(step_, {.needs_scheduler = true});
  EXPECT_EQ(state.step, 10);
  EXPECT_EQ(state.dp_world_size, 1);
  EXPECT_EQ(state.batch_size, 4);
  EXPECT_EQ(state.grad_accum_steps, 1);
  EXPECT_EQ(state.optimizer.at("state/0/exp_avg").sizes(), (std::vector<int64_t>{96, 32}));
  EXPECT_EQ(state.optimizer.at("state/0/step").item<float>(), 10.0F);
  EXPECT_EQ(state.param_groups[0]["initial_lr"], 0.001);
  EXPECT_EQ(state.scheduler->at("last_epoch"), 10);
  EXPECT_EQ(state.rng.at("torch_rng_state").numel(), 5056);
  EXPECT_FALSE(state.scaler);
  EXPECT_FALSE(state.lerobot_cpp);
}

TEST_F(TrainingStateFiles, ReadsTheStepOf061AndOfOlderLeRobots) {
  replace("training_step.json", R"({"step": 10, "num_processes": 2, "batch_size": 4})");
  TrainingState state = load_training_step(step_);
  EXPECT_EQ(state.dp_world_size, 2);
  EXPECT_EQ(state.batch_size, 4);
  EXPECT_FALSE(state.grad_accum_steps);
  EXPECT_FALSE(state.parallelism);
  replace("training_step.json", R"({"step": 10})");
  state = load_training_step(step_);
  EXPECT_EQ(state.step, 10);
  EXPECT_FALSE(state.dp_world_size);
}

TEST_F(TrainingStateFiles, WritesTheStepForBothKindsOfLeRobot) {
  TrainingState state = load_training_state(step_);
  state.dp_world_size = 2;
  state.parallelism->dp_replicate = 2;
  write_training_state(local_file_system(), step_ / "training_state", state);
  EXPECT_EQ(read_text(file("training_step.json")), R"({
    "step": 10,
    "dp_world_size": 2,
    "batch_size": 4,
    "grad_accum_steps": 1,
    "parallelism": {
        "dp_replicate": 2,
        "dp_shard": 1,
        "ring_degree": 1,
        "ulysses_degree": 1
    },
    "num_processes": 2
})");
}

TEST_F(TrainingStateFiles, WritesTextUnescaped) {
  TrainingState state = load_training_state(step_);
  state.lerobot_cpp = Json({{"root", "données"}});
  write_training_state(local_file_system(), step_ / "training_state", state);
  EXPECT_THAT(read_text(file("lerobot_cpp.json")), HasSubstr("données"));
}

TEST_F(TrainingStateFiles, AMissingFileIsNamedWithTheWayOut) {
  for (const char* name : {"training_step.json", "rng_state.safetensors", "optimizer_state.safetensors",
                           "optimizer_param_groups.json", "scheduler_state.json"}) {
    fs::rename(file(name), file("away"));
    EXPECT_THAT(loading({.needs_scheduler = true}),
                ThrowsMessage<UsageError>(AllOf(HasSubstr("cannot resume from " + step_.string()),
                                                HasSubstr(file(name).string()),
                                                HasSubstr("--policy.path=" + (step_ / "pretrained_model").string()))));
    fs::rename(file("away"), file(name));
  }
}

TEST_F(TrainingStateFiles, ASchedulerStateIsMissedOnlyByARunWithAScheduler) {
  fs::remove(file("scheduler_state.json"));
  EXPECT_FALSE(load_training_state(step_).scheduler);
}

TEST_F(TrainingStateFiles, TheAverageIsReadOnlyByARunThatAveragesAndMayBeMissing) {
  std::string logged;
  log::set_line_writer([&](std::string_view line) { logged += line; });
  EXPECT_FALSE(load_training_state(step_, {.needs_ema = true}).ema);
  log::set_line_writer({});
  EXPECT_THAT(logged, AllOf(HasSubstr("WARNING"), HasSubstr(file("ema_state.pt").string() + " is missing"),
                            HasSubstr("starts anew from the checkpoint's weights")));

  TrainingState state = load_training_state(step_);
  state.ema = optim::EmaState{.decay = 0.75, .optimization_step = 7, .shadow_params = {torch::arange(3.0)}};
  write_training_state(local_file_system(), step_ / "training_state", state);
  EXPECT_FALSE(load_training_state(step_).ema);
  const TrainingState read = load_training_state(step_, {.needs_ema = true});
  EXPECT_EQ(read.ema->decay, 0.75);
  EXPECT_EQ(read.ema->optimization_step, 7);
  EXPECT_TRUE(torch::equal(read.ema->shadow_params.at(0), state.ema->shadow_params[0]));
}

TEST_F(TrainingStateFiles, AccumulatedGradientsStandOnlyInTheMiddleOfAWindow) {
  TrainingState state = load_training_state(step_);
  EXPECT_TRUE(state.accumulated_gradients.empty());
  EXPECT_FALSE(fs::exists(file("accumulated_gradients.safetensors")));
  state.accumulated_gradients = {{"grad/0", torch::ones({2})}, {"grad/12", torch::zeros({3})}};
  write_training_state(local_file_system(), step_ / "training_state", state);
  EXPECT_TRUE(torch::equal(load_training_state(step_).accumulated_gradients.at("grad/0"), torch::ones({2})));
  for (const char* name : {"grad/", "grad/x", "gradient", "state/0"}) {
    save_safetensors(local_file_system(), file("accumulated_gradients.safetensors"), {{name, torch::ones({2})}});
    EXPECT_THAT(loading(),
                ThrowsMessage<UsageError>(HasSubstr(std::string(": ") + name + " is not of the form grad/")));
  }
}

TEST_F(TrainingStateFiles, AMissingFolderIsNamed) {
  fs::remove_all(step_ / "training_state");
  EXPECT_THAT(loading(), ThrowsMessage<UsageError>(HasSubstr((step_ / "training_state").string() + " is missing")));
  fs::remove_all(step_);
  EXPECT_THAT(loading(), ThrowsMessage<UsageError>("there is no checkpoint " + step_.string()));
}

struct Malformed {
  std::string file;
  std::string text;
  std::string message;
};

TEST_F(TrainingStateFiles, NamesFileKeyAndValueOfWhatIsMalformed) {
  const std::vector<Malformed> table = {
      {"training_step.json", R"([1])", "must hold an object"},
      {"training_step.json", R"({"batch_size": 4})", "step is missing"},
      {"training_step.json", R"({"step": 10.0})", "step must be an integer from 0 up, got 10.0"},
      {"training_step.json", R"({"step": true})", "step must be an integer from 0 up, got true"},
      {"training_step.json", R"({"step": -1})", "got -1"},
      {"training_step.json", R"({"step": 1, "batch_size": 0})", "batch_size must be an integer from 1 up, got 0"},
      {"training_step.json", R"({"step": 1, "num_processes": "2"})", "num_processes must be an integer from 1 up"},
      {"training_step.json", R"({"step": 1, "parallelism": 2})", "parallelism must be an object"},
      {"training_step.json", R"({"step": 1)", "line 1, column 11"},
      {"optimizer_param_groups.json", R"({})", "must hold a list of objects"},
      {"optimizer_param_groups.json", R"([])", "must hold a list of objects"},
      {"optimizer_param_groups.json", R"([{"lr": 0.1}])", "each with params"},
      {"optimizer_param_groups.json", R"([{"params": [0.0]}])", "a list of parameter indices"},
      {"scheduler_state.json", R"([])", "must hold an object"},
      {"scaler_state.json", R"(1)", "must hold an object"},
      {"lerobot_cpp.json", R"({})", "format_version is missing"},
      {"lerobot_cpp.json", R"({"format_version": 2})", "written by a newer lerobot-cpp"},
      {"rng_state.safetensors", "", "too few for a safetensors file"},
      {"optimizer_state.safetensors", "{}", "too few for a safetensors file"},
  };
  for (const Malformed& each : table) {
    const std::string before = fs::exists(file(each.file)) ? read_text(file(each.file)) : "";
    replace(each.file, each.text);
    EXPECT_THAT(loading(),
                ThrowsMessage<UsageError>(AllOf(HasSubstr(file(each.file).string()), HasSubstr(each.message))))
        << each.text;
    if (before.empty()) {
      fs::remove(file(each.file));
    } else {
      replace(each.file, before);
    }
  }
}

TEST_F(TrainingStateFiles, AnIncompleteRngStateIsNamed) {
  TensorMap rng = load_safetensors(file("rng_state.safetensors"));
  rng.erase("py_rng_state");
  save_safetensors(local_file_system(), file("rng_state.safetensors"), rng);
  EXPECT_THAT(loading(),
              ThrowsMessage<UsageError>(file("rng_state.safetensors").string() + ": py_rng_state is missing"));
}

}  // namespace
}  // namespace lerobot::checkpoint
