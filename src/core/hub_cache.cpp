#include "lerobot/core/hub_cache.hpp"

#include <cstdlib>
#include <fstream>
#include <regex>

namespace lerobot {
namespace fs = std::filesystem;
namespace {

fs::path expand_user(const std::string& path, const Environment& environment) {
  if (path != "~" && !path.starts_with("~/")) return path;
  return environment("HOME").value_or("/") + path.substr(1);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

fs::path huggingface_home(const Environment& environment) {
  if (const auto home = environment("HF_HOME")) return expand_user(*home, environment);
  if (const auto cache = environment("XDG_CACHE_HOME")) return expand_user(*cache, environment) / "huggingface";
  return fs::path(environment("HOME").value_or("/")) / ".cache" / "huggingface";
}

fs::path hub_cache(const Environment& environment) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto cache = environment(name)) return expand_user(*cache, environment);
  }
  return huggingface_home(environment) / "hub";
}

bool is_repo_id(std::string_view text) {
  static const std::regex kUserAndName("\\w([\\w.-]{0,94}\\w)?/\\w([\\w.-]{0,94}\\w)?");
  return std::regex_match(text.begin(), text.end(), kUserAndName) && text.find("..") == std::string_view::npos &&
         text.find("--") == std::string_view::npos;
}

fs::path hub_repository(const fs::path& cache, RepoType type, std::string_view repo_id) {
  std::string name = (type == RepoType::kModel ? "models--" : "datasets--") + std::string(repo_id);
  if (const auto slash = name.find('/'); slash != std::string::npos) name.replace(slash, 1, "--");
  return cache / name;
}

std::optional<fs::path> hub_snapshot(const fs::path& repository, const std::string& revision) {
  const fs::path snapshots = repository / "snapshots";
  std::string commit;
  if (std::ifstream ref(repository / "refs" / revision); ref >> commit && is_folder(snapshots / commit)) {
    return snapshots / commit;
  }
  if (!revision.empty() && is_folder(snapshots / revision)) return snapshots / revision;
  return std::nullopt;
}

}  // namespace lerobot
