// The rows of data/*/*.parquet that the chosen episodes own, in memory.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lerobot/dataset/dataset.hpp"
#include "lerobot/dataset/metadata.hpp"

namespace lerobot::dataset {

// Where a dataset row lies on disk.
struct FrameLocation {
  int32_t file = -1;
  int32_t row_group = -1;
  int32_t row = -1;  // within the row group
};

struct FrameData {
  std::map<std::string, torch::Tensor> columns;  // [N] for shape [1], else [N, ...]; float32, int64 or bool
  std::vector<std::filesystem::path> files;
  std::vector<FrameLocation> locations;  // of every row; empty when no image feature is wanted
  int64_t image_bytes = 0;               // of the wanted image columns
};

// The features to load: those of `names` (all, when it is null) and the standard columns; no strings, no language.
// Throws UsageError for a name that the dataset does not have.
std::vector<const FeatureSpec*> features_to_load(const DatasetInfo& info, const std::vector<std::string>* names);

// Reads and checks the files one after another; memory stays near the size of the result.
FrameData load_frame_data(const Metadata& metadata, const std::vector<EpisodeRows>& episodes,
                          const std::vector<const FeatureSpec*>& features);

}  // namespace lerobot::dataset
