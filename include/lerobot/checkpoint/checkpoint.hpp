// Saving a checkpoint so that a crash at any moment leaves the old one or the new one, whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "lerobot/checkpoint/training_state.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/safetensors.hpp"

namespace lerobot::checkpoint {

// All that a checkpoint holds, taken at one moment. Tensors may stand on any device and may share memory with the live
// model: then the model must rest until save_checkpoint returns.
struct CheckpointContent {
  Json policy_config;  // config.json
  Json train_config;   // train_config.json
  TensorMap weights;   // model.safetensors: the policy's state_dict
  // Writes the processor files into the folder it is given (PolicyProcessors::save). Empty: none are written.
  std::function<void(FileSystem&, const std::filesystem::path&)> write_processors;
  TrainingState training_state;
};

// Saves under <output_dir>/checkpoints (see layout.hpp) and points `last` at it; returns the step's folder.
//
// Everything is written and synced in a hidden folder beside the target (".000010.tmp-<pid>"), which then takes the
// target's name in one step; an existing checkpoint of the same step is exchanged with it and removed afterwards.
// `last` is replaced by renaming a new link over it. Hidden folders of runs that died are removed first, so one
// output_dir belongs to one writer. Throws RunError naming the step and the cause; the previous checkpoint is then
// untouched, and the hidden folder gone.
std::filesystem::path save_checkpoint(FileSystem& files, const std::filesystem::path& output_dir, int64_t total_steps,
                                      const CheckpointContent& content);

// The weights of a pretrained_model folder, names that share one tensor (LeRobot notes them in the file's metadata)
// included. Throws UsageError naming the folder when there are none.
TensorMap load_weights(const std::filesystem::path& pretrained_model_directory);

}  // namespace lerobot::checkpoint
