#include "lerobot/config/pretrained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lerobot/core/error.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot::config {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entries(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string how_to_download(const std::string& repo_id, const std::optional<std::string>& revision) {
  return fmt::format("This program does not reach the network; download it first:\n  hf download {}{}", repo_id,
                     revision ? " --revision " + *revision : "");
}

fs::path find_snapshot(const std::string& repo_id, const std::optional<std::string>& revision, std::string_view flag,
                       const Environment& environment) {
  const fs::path repository = hub_repository(hub_cache(environment), RepoType::kModel, repo_id);
  if (const auto snapshot = hub_snapshot(repository, revision.value_or("main"))) return *snapshot;
  std::error_code ignored;
  if (!fs::is_directory(repository, ignored)) {
    throw UsageError(
        fmt::format("--{}: '{}' is not a folder here and not a Hub repository in the local cache (looked for {}). {}",
                    flag, repo_id, repository.string(), how_to_download(repo_id, revision)));
  }
  const auto refs = entries(repository / "refs");
  throw UsageError(fmt::format("--{}: the local cache has no revision '{}' of the Hub repository '{}' ({} has {}). {}",
                               flag, revision.value_or("main"), repo_id, (repository / "refs").string(),
                               refs.empty() ? "none" : join(refs, ", "), how_to_download(repo_id, revision)));
}

}  // namespace

bool is_hub_repository(const std::string& path) {
  for (const char* suffix : {".json", ".yaml", ".yml"})
    if (path.ends_with(suffix)) return false;  // a file that is not there
  std::error_code ignored;
  return is_repo_id(path) && !fs::exists(path, ignored);
}

fs::path find_pretrained_folder(const std::string& path, const std::optional<std::string>& revision,
                                std::string_view flag, const Environment& environment) {
  if (is_hub_repository(path)) return find_snapshot(path, revision, flag, environment);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw UsageError(
        fmt::format("--{}: '{}' does not exist; it must be the folder of a trained policy (a checkpoint's "
                    "pretrained_model) or a Hub repository in the local cache",
                    flag, path));
  }
  return path;
}

}  // namespace lerobot::config
