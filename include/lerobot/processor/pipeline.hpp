// What stands between the dataset and the policy: renaming, the move to the device, normalisation; and the way back for
// actions. Kept in a checkpoint as LeRobot keeps it (processor/pipeline.py):
//   policy_preprocessor.json    rename_observations, to_batch, device, normalizer
//   policy_postprocessor.json   unnormalizer, device (cpu)
// with the statistics of every dataset feature beside them in two safetensors files.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "lerobot/config/features.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/dataset/batch.hpp"
#include "lerobot/dataset/stats.hpp"
#include "lerobot/processor/normalizer.hpp"

namespace lerobot {
struct PolicyConfig;
}

namespace lerobot::processor {

using RenameMap = OrderedMap<std::string>;  // observation key of the dataset -> key of the policy

struct ProcessorConfig {
  FeatureMap input_features = {};
  FeatureMap output_features = {};
  NormalizationMap norm_map = {};
  RenameMap rename_map = {};
  torch::Device device = torch::kCPU;
  double eps = 1e-8;
  std::optional<std::string> float_dtype = {};  // "float32", "bfloat16", ...: what floating-point inputs are cast to
};

// The features and normalisation of `policy`, running on `device`.
ProcessorConfig processor_config(const PolicyConfig& policy, torch::Device device);

// What a loaded pipeline takes from now instead of from its files. LeRobot's precedence:
//   fine-tuning (--policy.path)  everything, with the dataset's stats
//   resume                       everything but the stats: the checkpoint's are authoritative
//   evaluation                   the device
struct ProcessorOverrides {
  std::optional<torch::Device> device = {};
  std::optional<FeatureMap> input_features = {};
  std::optional<FeatureMap> output_features = {};
  std::optional<NormalizationMap> norm_map = {};
  std::optional<RenameMap> rename_map = {};
  std::optional<FeatureStats> stats = {};
};

// Not thread-safe: one a loop.
class PolicyProcessors {
 public:
  // `stats` of every dataset feature, before renaming.
  PolicyProcessors(ProcessorConfig config, const FeatureStats& stats);

  // Reads both files and their states from `directory`; stats in `overrides` win over the files' when there are any.
  // Throws UsageError naming file and step: a missing file (with what to do about a checkpoint from before processors),
  // a step that is not one of the above, twice there or in an order that means something else, an unknown field, a
  // missing state file.
  static PolicyProcessors load(const std::filesystem::path& directory, const ProcessorOverrides& overrides = {});

  // The policy's view of a batch: keys renamed (and their "<key>_is_pad"); kept are observations ("observation.*"),
  // "action", every key with "_is_pad", index, task_index, episode_index, timestamp and the task sentences. Moved to
  // the device, uint8 cameras as float32 / 255, observations and action normalised, in place where `batch` was handed
  // over with std::move. A feature of shape [1] gets its last dimension back: [B] -> [B, 1], [B, T] -> [B, T, 1].
  Batch preprocess(Batch batch);

  // Actions [..., A] from the policy, unnormalised, on the CPU.
  torch::Tensor postprocess(const torch::Tensor& action);

  // Writes the two JSON files and the two state files into `directory`, which exists.
  void save(FileSystem& files, const std::filesystem::path& directory) const;

  const ProcessorConfig& config() const { return config_; }
  const FeatureStats& stats() const { return normalizer_.stats(); }

 private:
  PolicyProcessors(ProcessorConfig config, Normalizer normalizer, Normalizer unnormalizer);

  torch::Tensor to_device(torch::Tensor tensor) const;
  void restore_single_dimensions(Batch& batch) const;

  ProcessorConfig config_;
  Normalizer normalizer_;
  Normalizer unnormalizer_;
};

// Whether `directory` holds the files of a pipeline, or one of them. LeRobot before 0.4 wrote none: it kept the
// statistics among the policy's weights.
bool has_processor_files(const std::filesystem::path& directory);

// Keys of `stats` renamed; throws UsageError when two features would get the same name.
FeatureStats rename_stats(const FeatureStats& stats, const RenameMap& rename_map);

}  // namespace lerobot::processor
