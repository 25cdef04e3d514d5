// --dataset.*: which data a run trains on (LeRobot: configs/default.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/config/image_transforms_config.hpp"
#include "lerobot/config/schema.hpp"

namespace lerobot {

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
