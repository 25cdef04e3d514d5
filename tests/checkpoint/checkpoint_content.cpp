#include "checkpoint_content.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "lerobot/checkpoint/rng_state.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "support/torch.hpp"

namespace lerobot::checkpoint {
namespace fs = std::filesystem;

fs::path golden_step() {
  return fs::path(LEROBOT_TEST_DATA) / "checkpoints" / "000010";
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

CheckpointContent golden_content() {
  const fs::path pretrained_model = golden_step() / kPretrainedModelDirectory;
  CheckpointContent content;
  content.policy_config = read_json(pretrained_model / kPolicyConfigFile);
  content.train_config = read_json(pretrained_model / kTrainConfigFile);
  content.weights = load_weights(pretrained_model);
  content.write_processors = [pretrained_model](FileSystem& files, const fs::path& directory) {
    for (const fs::directory_entry& entry : fs::directory_iterator(pretrained_model)) {
      const fs::path name = entry.path().filename();
      if (name.string().starts_with("policy_")) files.write_file(directory / name, read_text(entry.path()));
    }
  };
  content.training_state = load_training_state(golden_step());
  return content;
}

CheckpointContent marked_content(int64_t step, int64_t mark) {
  CheckpointContent content;
  content.policy_config = Json({{"mark", mark}});
  content.train_config = Json({{"mark", mark}});
  content.weights = {{"model.weight", torch::full({3, 2}, mark, torch::kFloat32)}};
  content.write_processors = [mark](FileSystem& files, const fs::path& directory) {
    files.write_file(directory / "policy_preprocessor.json", std::to_string(mark));
  };
  TrainingState& state = content.training_state;
  state.step = step;
  state.batch_size = mark;
  state.rng = initial_rng_state(static_cast<uint64_t>(mark));
  state.rng["torch_rng_state"] = torch::full({8}, mark, torch::kUInt8);
  state.optimizer = {{"state/0/step", torch::tensor(static_cast<float>(mark))}};
  state.param_groups = Json::array({Json({{"mark", mark}, {"params", {0}}})});
  state.scheduler = Json({{"mark", mark}});
  state.lerobot_cpp = Json({{"mark", mark}});
  state.accumulated_gradients = {{"grad/0", torch::full({2}, mark, torch::kFloat32)}};
  state.ema = optim::EmaState{.optimization_step = mark, .shadow_params = {torch::full({3, 2}, mark, torch::kFloat32)}};
  content.ema = EmaContent{.weights = {{"model.weight", torch::full({3, 2}, mark, torch::kFloat32)}}};
  return content;
}

int64_t mark_of(const fs::path& step_directory) {
  std::set<int64_t> marks;
  try {
    const fs::path pretrained_model = step_directory / kPretrainedModelDirectory;
    const fs::path averaged = step_directory / kAveragedModelDirectory;
    const TrainingState state = load_training_state(step_directory, {.needs_scheduler = true, .needs_ema = true});
    marks = {read_json(pretrained_model / kPolicyConfigFile)["mark"].get<int64_t>(),
             read_json(pretrained_model / kTrainConfigFile)["mark"].get<int64_t>(),
             std::stoll(read_text(pretrained_model / "policy_preprocessor.json")),
             load_weights(pretrained_model).at("model.weight").min().item<int64_t>(),
             state.batch_size.value(),
             state.rng.at("torch_rng_state")[0].item<int64_t>(),
             state.optimizer.at("state/0/step").item<int64_t>(),
             state.param_groups[0]["mark"].get<int64_t>(),
             state.scheduler.value()["mark"].get<int64_t>(),
             state.lerobot_cpp.value()["mark"].get<int64_t>(),
             state.accumulated_gradients.at("grad/0").min().item<int64_t>(),
             state.ema.value().optimization_step,
             state.ema->shadow_params.at(0).min().item<int64_t>(),
             read_json(averaged / kPolicyConfigFile)["mark"].get<int64_t>(),
             read_json(averaged / kTrainConfigFile)["mark"].get<int64_t>(),
             std::stoll(read_text(averaged / "policy_preprocessor.json")),
             load_weights(averaged).at("model.weight").min().item<int64_t>()};
  } catch (const std::exception& error) {
    ADD_FAILURE() << step_directory << " is not whole: " << error.what();
    return -1;
  }
  EXPECT_EQ(marks.size(), 1) << step_directory << " is a mixture";
  return marks.size() == 1 ? *marks.begin() : -1;
}

}  // namespace lerobot::checkpoint
