// Saving a checkpoint so that a crash at any moment leaves the old one or the new one, whole.
// docs/checkpoint_format.md lists the files and the steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "lerobot/checkpoint/training_state.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/safetensors.hpp"

namespace lerobot::checkpoint {

struct EmaContent {
  TensorMap weights;  // pretrained_model_ema/model.safetensors: the state_dict with the averaged parameters
};

// All that a checkpoint holds, taken at one moment. Tensors may stand on any device and may share memory with the live
// model: then the model must rest until save_checkpoint returns.
struct CheckpointContent {
  Json policy_config;  // config.json
  Json train_config;   // train_config.json
  TensorMap weights;   // model.safetensors: the policy's state_dict
  // Writes the processor files into the folder it is given (PolicyProcessors::save); called once for each model folder.
  // Empty: none are written. With CheckpointWriter it runs on the writer's thread while training goes on: what it
  // touches must be its own or at rest until the save is finished. The processors' statistics are; the policy, the
  // optimizer and autograd are not.
  std::function<void(FileSystem&, const std::filesystem::path&)> write_processors;
  TrainingState training_state;
  std::optional<EmaContent> ema;  // pretrained_model_ema, beside training_state.ema: when the run averages its weights
};

// The same with every tensor detached and copied into main memory, contiguous, apart from the original. What shared all
// of its memory (averaged weights that stand in both places) shares the copy. Throws what LibTorch throws.
CheckpointContent snapshot(CheckpointContent content);

// Saves under <output_dir>/checkpoints (see checkpoint_layout.hpp) and points `last` at it; returns the step's folder.
//
// Everything is written and synced in a hidden folder beside the target (".000010.tmp-<pid>"), which then takes the
// target's name in one step; an existing checkpoint of the same step is exchanged with it and removed afterwards.
// `last` is replaced by renaming a new link over it (a small file where links cannot be made). What died runs left is
// removed first (remove_leftovers), so one output_dir belongs to one writer.
//
// Throws RunError naming the step, the cause and a way out: the disk refused, memory ran out, or a weight holds NaN or
// infinity (such a model is not stored). The previous checkpoint is then untouched, and the hidden folder gone.
std::filesystem::path save_checkpoint(FileSystem& files, const std::filesystem::path& output_dir, int64_t total_steps,
                                      const CheckpointContent& content);

// The weights of a pretrained_model folder, names that share one tensor (LeRobot notes them in the file's metadata)
// included. Throws UsageError naming the folder when there are none.
TensorMap load_weights(const std::filesystem::path& pretrained_model_directory);

}  // namespace lerobot::checkpoint
