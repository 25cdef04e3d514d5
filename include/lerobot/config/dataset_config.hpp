// --dataset.*: which data a run trains on (LeRobot: configs/default.py, transforms).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/config/schema.hpp"

namespace lerobot {

// One augmentation that may be drawn for a frame.
struct ImageTransformConfig : config::Section {
  double weight = 1.0;  // chance to be drawn, relative to the others
  std::string type = "Identity";
  Json kwargs = Json::object();

  ImageTransformConfig() = default;
  ImageTransformConfig(double weight, std::string type, Json kwargs);
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct ImageTransformsConfig : config::Section {
  bool enable = false;
  int64_t max_num_transforms = 3;
  bool random_order = false;
  OrderedMap<ImageTransformConfig> tfs;

  ImageTransformsConfig();  // with LeRobot's six transforms
  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
};

struct DatasetConfig : config::Section {
  std::string repo_id;
  std::string repo_type = "dataset";
  std::optional<std::string> root;
  std::optional<std::vector<int64_t>> episodes;
  std::optional<std::vector<int64_t>> exclude_episodes;
  ImageTransformsConfig image_transforms;
  std::optional<std::string> revision;
  bool use_imagenet_stats = true;
  std::string video_backend = "torchcodec";
  bool return_uint8 = false;
  std::string depth_output_unit = "mm";
  bool streaming = false;
  double eval_split = 0.0;

  void fields(config::Visitor& visit) override;
  void validate(config::Problems& problems) const override;
  // Drops negative excluded episodes, with a warning, as LeRobot does.
  void resolve(config::Problems& problems);
};

}  // namespace lerobot
