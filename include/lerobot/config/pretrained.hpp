// Where a trained policy or a run's configuration lies on this machine: in a folder, or in the local cache of the Hub
// when its name is that of a Hub repository. Nothing is downloaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "lerobot/core/hub_cache.hpp"

namespace lerobot::config {

// True for "user/name" where there is no such file or folder: LeRobot takes it for a repository then.
bool is_hub_repository(const std::string& path);

// What `path` (--policy.path, policy.pretrained_path, --config_path) means: `path` itself, or the cached snapshot of
// the repository at `revision` (nullopt: main). Throws UsageError that names `flag` when there is neither, with the
// command that downloads the repository.
std::filesystem::path find_pretrained_folder(const std::string& path, const std::optional<std::string>& revision,
                                             std::string_view flag,
                                             const Environment& environment = process_environment());

}  // namespace lerobot::config
