#include "config_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "lerobot/core/error.hpp"
#include "yaml_1_1.hpp"

namespace lerobot::config {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainConfig = "train_config.json";

bool looks_like_repo_id(const std::string& text) {
  static const std::regex kRepoId("[\\w.-]+/[\\w.-]+");
  return std::regex_match(text, kRepoId);
}

[[noreturn]] void throw_missing(std::string_view flag, const fs::path& path) {
  const std::string hub =
      looks_like_repo_id(path.string())
          ? " If it is a repository on the Hub: the Hub cannot be reached from here yet, give a local folder"
          : "";
  throw UsageError(fmt::format("--{}: '{}' does not exist.{}", flag, path.string(), hub));
}

fs::path find_train_config(const fs::path& config_path) {
  if (!fs::exists(config_path)) throw_missing("config_path", config_path);
  if (!fs::is_directory(config_path)) return config_path;
  if (fs::exists(config_path / kTrainConfig)) return config_path / kTrainConfig;
  std::string hint;
  for (const char* below : {"pretrained_model", "checkpoints/last/pretrained_model"}) {
    const fs::path candidate = config_path / below;
    if (fs::exists(candidate / kTrainConfig)) hint = fmt::format(" Did you mean {}?", candidate.string());
  }
  throw UsageError(fmt::format("--config_path: there is no {} in '{}'.{}", kTrainConfig, config_path.string(), hint));
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
  if (!fs::exists(policy_path)) throw_missing("policy.path", policy_path);
  const fs::path path = policy_path / "config.json";
  if (!fs::is_directory(policy_path) || !fs::exists(path)) {
    const bool has_model_below = fs::exists(policy_path / "pretrained_model" / "config.json");
    const std::string hint =
        has_model_below ? fmt::format(" Did you mean {}?", (policy_path / "pretrained_model").string()) : "";
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
