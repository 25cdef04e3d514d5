// A run on the keypoint demonstrations learns in every precision, float16 with overflows included.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "lerobot/config/command_line.hpp"
#include "lerobot/precision/grad_scaler.hpp"
#include "lerobot/train/train.hpp"
#include "lerobot/train/training_run.hpp"
#include "support/torch.hpp"

namespace lerobot::train {
namespace {

constexpr int64_t kSteps = 300;

struct Learned {
  double last_loss = 0.0;  // mean of the last 50
  int64_t skipped = 0;
  double scale = 0.0;
};

// The program's own run, but for the precision: the program would refuse fp16 on the CPU.
Learned learn(precision::Precision precision) {
  const policy::PolicyRegistry policies = policy::register_policies();
  config::ParsedCommand command = config::parse_command_line(
      {"--dataset.repo_id=local/pusht_demo_keypoints", "--dataset.root=" LEROBOT_DATA "/pusht_demo_keypoints",
       "--policy.type=act", "--policy.device=cpu", "--policy.push_to_hub=false", "--policy.dim_model=64",
       "--policy.dim_feedforward=128", "--policy.n_heads=2", "--policy.n_encoder_layers=1", "--policy.chunk_size=8",
       "--policy.n_action_steps=8", "--policy.use_vae=false", "--policy.dropout=0.0", "--policy.optimizer_lr=3e-4",
       "--batch_size=32", "--num_workers=0", "--output_dir=not_written"},
      registries(policies), "lerobot-train");
  TrainingRun run = set_up(*command.config, command.typed, policies);
  precision::GradScaler scaler({.init_scale = 1048576.0});  // too large at first: overflows come by themselves
  TrainStep step(*run.policy, *run.optimizer, run.scheduler.get(),
                 {.grad_clip_norm = run.config.optimizer->grad_clip_norm,
                  .precision = precision,
                  .scaler = precision == precision::Precision::kFp16 ? &scaler : nullptr});
  start_loading(run, {.step = 0, .batch_size = run.config.batch_size});

  Learned learned;
  for (int64_t i = 0; i < kSteps; ++i) {
    const Batch batch = run.prepare(run.loader->next());
    const std::vector<torch::Tensor> before = [&] {
      std::vector<torch::Tensor> copies;
      for (const auto& parameter : run.policy->parameters()) copies.push_back(parameter.detach().clone());
      return copies;
    }();
    const StepResult result = step(batch);
    const bool is_skipped = result.found_inf->item<float>() == 1.0f;
    learned.skipped += is_skipped ? 1 : 0;
    bool is_unchanged = true;
    const auto parameters = run.policy->parameters();
    for (size_t p = 0; p < parameters.size(); ++p) is_unchanged &= torch::equal(parameters[p], before[p]);
    EXPECT_EQ(is_unchanged, is_skipped) << "step " << i;
    if (i >= kSteps - 50) learned.last_loss += result.loss.item<double>() / 50.0;
  }
  if (precision == precision::Precision::kFp16) learned.scale = scaler.get_scale();
  return learned;
}

TEST(MixedPrecision, LearnsAsFloat32Does) {
  const Learned full = learn(precision::Precision::kNo);
  const Learned bf16 = learn(precision::Precision::kBf16);
  const Learned fp16 = learn(precision::Precision::kFp16);
  EXPECT_EQ(full.skipped, 0);
  EXPECT_EQ(bf16.skipped, 0);
  EXPECT_GT(fp16.skipped, 0);
  EXPECT_LT(fp16.skipped, 20);
  EXPECT_LT(fp16.scale, 1048576.0);
  EXPECT_LT(full.last_loss, 0.5);
  EXPECT_NEAR(bf16.last_loss, full.last_loss, 0.1 * full.last_loss);
  EXPECT_NEAR(fp16.last_loss, full.last_loss, 0.1 * full.last_loss);
}

}  // namespace
}  // namespace lerobot::train
