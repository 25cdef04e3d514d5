// meta/info.json of a LeRobotDataset v3.0: what the dataset holds and where its files are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lerobot/config/features.hpp"
#include "lerobot/core/json.hpp"

namespace lerobot::dataset {

// One entry of info.json's "features".
struct FeatureSpec {
  std::string name;
  std::string dtype;  // "video", "image", "string", "language", or a numpy name: "float32", "int64", "bool", …
  std::vector<int64_t> shape;  // as declared: cameras are HWC or CHW, see camera_shape()
  Json names;                  // list, nested list, object or null
  bool is_depth = false;
  std::optional<std::string> depth_unit;  // "m" or "mm", where recorded

  bool is_video() const { return dtype == "video"; }
  bool is_image() const { return dtype == "image"; }
  bool is_camera() const { return is_video() || is_image(); }
  bool is_numeric() const;
  bool is_scalar() const { return shape.size() == 1 && shape[0] == 1; }  // no trailing dimension in a batch
  // [C, H, W] of a camera. The shape is HWC when names[2] is "channel" or "channels", else CHW. Throws UsageError when
  // names do not tell.
  std::vector<int64_t> camera_shape() const;
  // What turns a depth value of the recorded unit into one of `unit`: 1000, 0.001 or 1 (also where no unit is
  // recorded).
  double depth_scale(std::string_view unit) const;
};

struct DatasetInfo {
  std::filesystem::path file;  // the info.json it was read from, for messages
  std::string codebase_version;
  double fps = 0;
  std::vector<FeatureSpec> features;  // in file order, the order of features everywhere
  int64_t total_episodes = 0;
  int64_t total_frames = 0;
  int64_t total_tasks = 0;
  int64_t chunks_size = 1000;
  std::string data_path = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet";
  std::optional<std::string> video_path = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4";
  std::optional<std::string> robot_type;

  const FeatureSpec* find(std::string_view name) const;
  std::vector<const FeatureSpec*> cameras() const;  // in feature order
};

// Reads <root>/meta/info.json. Unknown keys are warned about and ignored.
// Throws UsageError for a missing or broken file, v2.x and v1.x (with the conversion command, which names `repo_id`), a
// newer major version, and features or numbers that cannot be; a newer minor version is warned about.
DatasetInfo load_dataset_info(const std::filesystem::path& root, std::string_view repo_id);

// A policy's features as LeRobot types them: cameras VISUAL [C, H, W], "observation.environment_state" ENV,
// "observation…" STATE, "action…" ACTION; the rest is not for a policy. Strings and language are left out.
struct PolicyFeatures {
  FeatureMap inputs;
  FeatureMap outputs;  // those of type ACTION
};
PolicyFeatures policy_features(const DatasetInfo& info);

// Fills a path pattern of info.json ({video_key}, {chunk_index:03d}, {file_index:03d}, as Python's str.format).
// Throws UsageError naming the pattern for any other placeholder.
std::filesystem::path format_data_path(std::string_view pattern, std::string_view video_key, int64_t chunk_index,
                                       int64_t file_index);

}  // namespace lerobot::dataset
