// The two pipelines of a checkpoint as files: policy_preprocessor.json and policy_postprocessor.json, each with a
// safetensors file of statistics. Format: LeRobot, processor/pipeline.py.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lerobot/config/features.hpp"
#include "lerobot/core/file_system.hpp"
#include "lerobot/dataset/stats.hpp"
#include "lerobot/processor/normalizer.hpp"
#include "lerobot/processor/pipeline.hpp"

namespace lerobot::processor {

// What the preprocessor's four steps, or the postprocessor's two, hold.
struct PipelineFile {
  RenameMap rename_map;
  std::string device = "cpu";  // the type alone: "cuda" for "cuda:1"
  std::optional<std::string> float_dtype;
  NormalizerConfig normalizer;
  FeatureStats stats;
};

enum class Direction { kPre, kPost };

// policy_preprocessor.json or policy_postprocessor.json in `directory`.
std::filesystem::path pipeline_path(const std::filesystem::path& directory, Direction direction);

PipelineFile read_pipeline(const std::filesystem::path& directory, Direction direction);
void write_pipeline(FileSystem& files, const std::filesystem::path& directory, Direction direction,
                    const PipelineFile& pipeline);

}  // namespace lerobot::processor
