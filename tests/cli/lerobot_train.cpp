#include "cli/lerobot_train.hpp"

#include <utility>

namespace lerobot::testing_support {
namespace {

std::vector<std::string> small_run(const std::string& dataset, const std::filesystem::path& output_dir) {
  return {"--dataset.repo_id=local/" + dataset,
          "--dataset.root=" + dataset_folder(dataset).string(),
          "--output_dir=" + output_dir.string(),
          "--policy.type=act",
          "--policy.device=cpu",
          "--policy.push_to_hub=false",
          "--policy.pretrained_backbone_weights=null",
          "--policy.dim_model=32",
          "--policy.dim_feedforward=64",
          "--policy.n_heads=2",
          "--policy.n_encoder_layers=1",
          "--policy.n_decoder_layers=1",
          "--policy.chunk_size=8",
          "--policy.n_action_steps=8",
          "--policy.use_vae=false",
          "--policy.dropout=0.0",
          "--batch_size=8",
          "--steps=3",
          "--log_freq=1",
          "--num_workers=0"};
}

}  // namespace

std::filesystem::path dataset_folder(const std::string& name) {
  return std::filesystem::path(LEROBOT_DATA) / name;
}

std::vector<std::string> small_keypoint_run(const std::filesystem::path& output_dir) {
  return small_run("pusht_demo_keypoints", output_dir);
}

std::vector<std::string> small_image_run(const std::filesystem::path& output_dir) {
  return small_run("pusht_demo_image", output_dir);
}

std::filesystem::path lerobot_train_program() {
  return LEROBOT_TRAIN;
}
std::filesystem::path lerobot_eval_program() {
  return LEROBOT_EVAL;
}

ProcessResult lerobot_train(std::vector<std::string> flags, const ProcessOptions& options) {
  flags.insert(flags.begin(), lerobot_train_program().string());
  return run_process(flags, options);
}

}  // namespace lerobot::testing_support
