// The made-up dataset of tests/data/processor.
#pragma once

#include <filesystem>

#include "lerobot/core/safetensors.hpp"
#include "lerobot/processor/normalizer.hpp"
#include "lerobot/processor/pipeline.hpp"

namespace lerobot::processor::sample {

inline const std::filesystem::path kFolder = std::filesystem::path(LEROBOT_TEST_DATA) / "processor";

inline FeatureMap inputs() {
  return {{"observation.state", {FeatureType::kState, {6}}},
          {"observation.environment_state", {FeatureType::kEnv, {3}}},
          {"observation.images.front", {FeatureType::kVisual, {3, 4, 5}}}};
}
inline FeatureMap outputs() {
  return {{"action", {FeatureType::kAction, {2}}}};
}
inline FeatureMap features() {
  FeatureMap all = inputs();
  all.set("action", {FeatureType::kAction, {2}});
  return all;
}

inline NormalizationMap norm_map(NormalizationMode mode) {
  return {{"VISUAL", mode}, {"STATE", mode}, {"ACTION", mode}};
}

inline FeatureStats stats() {
  return unflatten_stats(load_safetensors(kFolder / "stats.safetensors"));
}
inline TensorMap batch() {
  return load_safetensors(kFolder / "inputs.safetensors");
}

inline ProcessorConfig config(NormalizationMode mode = NormalizationMode::kMeanStd) {
  ProcessorConfig config;
  config.input_features = inputs();
  config.output_features = outputs();
  config.norm_map = norm_map(mode);
  return config;
}

}  // namespace lerobot::processor::sample
