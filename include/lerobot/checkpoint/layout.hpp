// Where things stand in a run's folder. Source: LeRobot's common/train_utils.py.
//   <output_dir>/checkpoints/000010/pretrained_model/  config.json  model.safetensors  train_config.json  processor
//   files
//                                   training_state/    training_step.json  rng_state.safetensors
//                                   optimizer_state.safetensors
//                                                      optimizer_param_groups.json  [scheduler_state.json]
//                                                      [scaler_state.json]  lerobot_cpp.json (ours alone)
//   <output_dir>/checkpoints/last -> 000010
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lerobot::checkpoint {

inline constexpr const char* kCheckpointsDirectory = "checkpoints";
inline constexpr const char* kLastLink = "last";
inline constexpr const char* kPretrainedModelDirectory = "pretrained_model";
inline constexpr const char* kTrainingStateDirectory = "training_state";
inline constexpr const char* kPolicyConfigFile = "config.json";
inline constexpr const char* kTrainConfigFile = "train_config.json";
inline constexpr const char* kWeightsFile = "model.safetensors";

// The step, padded with zeros to six digits, or to as many as `total_steps` has: "000010".
std::string step_directory_name(int64_t step, int64_t total_steps);

// The checkpoint that --config_path=<.../pretrained_model/train_config.json> or <.../pretrained_model> stands in: the
// parent of pretrained_model, by name only.
std::filesystem::path step_directory_of(const std::filesystem::path& config_path);

// The complete checkpoint that <output_dir>/checkpoints/last leads to, links resolved. Should a run have died while it
// replaced that very checkpoint on a file system without atomic exchange, the one set aside is found. Throws UsageError
// that names what is missing.
std::filesystem::path resolve_last(const std::filesystem::path& output_dir);

}  // namespace lerobot::checkpoint
