// The local cache of the Hugging Face Hub, read as huggingface_hub reads it when it has no network:
//   <cache>/models--<user>--<name>/refs/<revision>     text: a commit
//   <cache>/models--<user>--<name>/snapshots/<commit>/ the files, as links
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lerobot {

// Looks an environment variable up; nullopt when it is unset or empty.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

// $HF_HOME, $XDG_CACHE_HOME/huggingface, or ~/.cache/huggingface.
std::filesystem::path huggingface_home(const Environment& environment);
// $HF_HUB_CACHE, its old name $HUGGINGFACE_HUB_CACHE, or <huggingface_home>/hub.
std::filesystem::path hub_cache(const Environment& environment);

// Whether the Hub would take `text` as "user/name" (a bare "name" is left to the file system). Such a name holds no
// "..", so that it never leads out of the cache.
bool is_repo_id(std::string_view text);

enum class RepoType { kModel, kDataset };

// The repository's folder in `cache`, there or not.
std::filesystem::path hub_repository(const std::filesystem::path& cache, RepoType type, std::string_view repo_id);

// The snapshot that `revision` (a branch, tag or commit) stands for; nullopt when it is not in the cache.
std::optional<std::filesystem::path> hub_snapshot(const std::filesystem::path& repository, const std::string& revision);

}  // namespace lerobot
