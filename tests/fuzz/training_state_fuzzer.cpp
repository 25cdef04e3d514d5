// The JSON files of a checkpoint's training_state folder. The input is read as each of them in turn.
#include <ATen/ops/zeros.h>

#include "fuzz_target.hpp"
#include "lerobot/checkpoint/training_state.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/optim/optimizer.hpp"
#include "lerobot/optim/optimizer_configs.hpp"
#include "lerobot/optim/scheduler.hpp"
#include "lerobot/precision/grad_scaler.hpp"

using namespace lerobot;

namespace {

// An optimizer of two groups with a schedule, as a policy of two learning rates has.
void load_into_a_run(const Json& state) {
  const torch::Tensor a = at::zeros({2}).requires_grad_(true);
  const torch::Tensor b = at::zeros({}).requires_grad_(true);
  optim::Optimizer optimizer(optim::AdamWConfig{}, {{{a}, 1e-4}, {{b}, 1e-5}});
  optim::Scheduler scheduler(optim::CosineDecayWithWarmupSchedulerConfig{}, optimizer, 1000);
  precision::GradScaler scaler;
  fuzz::expect_a_result_or_an_error([&] { optimizer.load_param_groups(state, "input"); });
  fuzz::expect_a_result_or_an_error([&] {
    scheduler.load_state_dict(state, "input");
    scheduler.step();
  });
  fuzz::expect_a_result_or_an_error([&] { scaler.load_state_dict(state, "input"); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::filesystem::path training_state = checkpoint::kTrainingStateDirectory;
  folder.write(training_state / "training_step.json", data, size);
  fuzz::expect_a_result_or_an_error([&] { checkpoint::load_training_step(folder.path()); });
  fuzz::expect_a_result_or_an_error([&] {
    load_into_a_run(parse_json({reinterpret_cast<const char*>(data), size}, "input"));
  });
  return 0;
}
