// The files a configuration is read from: --config_path and the config.json of --policy.path.
#pragma once

#include <filesystem>
#include <string>

#include "lerobot/core/json.hpp"

namespace lerobot::config {

// --config_path: a file (.yaml and .yml are YAML, everything else JSON), or a folder that leads to a train_config.json:
// pretrained_model, a step, checkpoints/last, checkpoints, an output_dir, or a downloaded repository (its root's file,
// else that of its highest step). A `last` that is a file, or whose checkpoint a crash left set aside, is followed too
// (checkpoint_layout.hpp). Throws UsageError that lists what was looked for.
struct ConfigFile {
  std::filesystem::path path;  // the file read
  Json content;                // an object; keys of older LeRobots are already in today's form
};
ConfigFile read_config_file(const std::filesystem::path& config_path);

// The config.json in the folder that --policy.path names. It has a "type".
Json read_pretrained_config(const std::filesystem::path& policy_path);

// `over` on top of `base`: dicts key by key, everything else replaces.
void deep_merge(Json& base, const Json& over);

}  // namespace lerobot::config
