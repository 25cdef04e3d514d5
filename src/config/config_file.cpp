#include "config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/error.hpp"
#include "yaml_1_1.hpp"

namespace lerobot::config {
namespace {

namespace fs = std::filesystem;

// Whatever the system says about a path that cannot be one (too long, a file as a folder): it is not there.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}
bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

[[noreturn]] void throw_missing(std::string_view flag, const fs::path& path) {
  throw UsageError(fmt::format("--{}: '{}' does not exist", flag, path.string()));
}

// In a folder that --config_path names: a pretrained_model folder or a repository's root, a step folder, the
// checkpoints folder, or the output_dir above it.
fs::path find_train_config_below(const fs::path& folder) {
  std::vector<fs::path> candidates = {folder, folder / checkpoint::kPretrainedModelDirectory};
  for (const fs::path& checkpoints : {folder, folder / checkpoint::kCheckpointsDirectory}) {
    if (const auto step = checkpoint::newest_checkpoint(checkpoints)) {
      candidates.push_back(*step / checkpoint::kPretrainedModelDirectory);
    }
  }
  for (const fs::path& candidate : candidates) {
    const fs::path path = candidate / checkpoint::kTrainConfigFile;
    if (is_there(path)) return path;
  }
  std::string hint;
  for (const fs::path& checkpoints : {folder, folder / checkpoint::kCheckpointsDirectory}) {
    const auto target = checkpoint::last_target(checkpoints);
    if (!target) continue;
    hint = fmt::format(" {} leads to {}, which {}; name another checkpoint.",
                       (checkpoints / checkpoint::kLastLink).string(), target->string(),
                       is_there(*target) ? "has none" : "does not exist");
  }
  throw UsageError(
      fmt::format("--config_path: there is no {0} for '{1}'. Looked for {0}, pretrained_model/{0}, "
                  "last/pretrained_model/{0}, <step>/pretrained_model/{0}, and the last two below checkpoints.{2}",
                  checkpoint::kTrainConfigFile, folder.string(), hint));
}

fs::path find_train_config(const fs::path& config_path) {
  const fs::path path = checkpoint::follow(config_path);
  if (!is_there(path)) throw_missing("config_path", config_path);
  return is_folder(path) ? find_train_config_below(path) : path;
}

std::string read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw UsageError(fmt::format("{}: cannot be read", path.string()));
  return text;
}

Json read_by_suffix(const fs::path& path) {
  const fs::path suffix = path.extension();
  if (suffix == ".yaml" || suffix == ".yml") return parse_yaml(read_text(path), path.string());
  if (suffix == ".toml") {
    throw UsageError(fmt::format("--config_path: TOML is not supported, '{}' must be JSON or YAML", path.string()));
  }
  return read_json(path);
}

// LeRobot before sample_weighting had one key for each of its settings.
void migrate_rabc(Json& config) {
  Json weighting = {{"type", "rabc"}};
  bool is_used = false;
  for (const char* key : {"use_rabc", "rabc_progress_path", "rabc_kappa", "rabc_epsilon", "rabc_head_mode"}) {
    if (!config.contains(key)) continue;
    const Json value = config[key];
    config.erase(key);
    if (std::string_view(key) == "use_rabc") {
      is_used = value == true;
    } else if (!value.is_null()) {
      weighting[std::string(key).substr(std::string_view("rabc_").size())] = value;
    }
  }
  if (is_used && (!config.contains("sample_weighting") || config["sample_weighting"].is_null())) {
    config["sample_weighting"] = weighting;
  }
}

}  // namespace

ConfigFile read_config_file(const fs::path& config_path) {
  ConfigFile file{find_train_config(config_path), {}};
  file.content = read_by_suffix(file.path);
  if (!file.content.is_object()) {
    throw UsageError(fmt::format("--config_path: '{}' must hold a dict of fields", file.path.string()));
  }
  if (file.path.extension() == ".json") migrate_rabc(file.content);
  return file;
}

Json read_pretrained_config(const fs::path& policy_path) {
  if (!is_there(policy_path)) throw_missing("policy.path", policy_path);
  const fs::path path = policy_path / "config.json";
  if (!is_folder(policy_path) || !is_there(path)) {
    std::string hint;
    for (const fs::path& meant :
         {policy_path / "pretrained_model", policy_path / "last" / "pretrained_model",
          policy_path / "checkpoints" / "last" / "pretrained_model", policy_path.parent_path()}) {
      if (!hint.empty() || !is_there(meant / "config.json")) continue;
      hint = fmt::format(" Did you mean {}?", meant.string());
    }
    throw UsageError(fmt::format("--policy.path: there is no config.json in '{}'.{}", policy_path.string(), hint));
  }
  Json config = read_json(path);
  if (!config.is_object() || !config.contains("type")) {
    throw UsageError(fmt::format("--policy.path: '{}' does not name a policy \"type\"", path.string()));
  }
  return config;
}

void deep_merge(Json& base, const Json& over) {
  if (!base.is_object() || !over.is_object()) {
    base = over;
    return;
  }
  for (const auto& [key, value] : over.items()) {
    if (base.contains(key)) {
      deep_merge(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

}  // namespace lerobot::config
