// Where a dataset lies on this machine (LeRobot's search order, without the network).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lerobot/core/hub_cache.hpp"

namespace lerobot::dataset {

struct DatasetLocation {
  std::string repo_id;                        // --dataset.repo_id
  std::optional<std::filesystem::path> root;  // --dataset.root
  std::optional<std::string> revision;        // --dataset.revision; nullopt: LeRobot's "v3.0"
};

// --dataset.root: exactly that folder. Otherwise, the first that holds meta/info.json of
//   1. $HF_LEROBOT_HOME/<repo_id>, where HF_LEROBOT_HOME defaults to $HF_HOME/lerobot and HF_HOME to
//      $XDG_CACHE_HOME/huggingface or ~/.cache/huggingface; skipped when it is a download mirror (it holds
//      .cache/huggingface/download), which LeRobot does not read;
//   2. the Hub cache $HF_LEROBOT_HOME/hub/datasets--<ns>--<name>: refs/<revision>, or for the default revision
//      refs/v3.0, the highest refs/v3.x, refs/main, each naming snapshots/<sha>; a revision may be the sha itself;
//   3. the mirror of 1 after all.
// Throws UsageError with the command that downloads the dataset when there is none, and when LEROBOT_HOME is set (its
// meaning ended with LeRobot 0.1).
std::filesystem::path find_dataset_root(const DatasetLocation& location,
                                        const Environment& environment = process_environment());

}  // namespace lerobot::dataset
