// From argv (and the files it names) to the configuration of a program.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/config/eval_config.hpp"
#include "lerobot/config/train_config.hpp"

namespace lerobot::config {

template <class Config>
struct ParsedCommandOf {
  std::unique_ptr<Config> config;     // null when help or the devices were asked for
  std::set<std::string> typed;        // flags on the command line, without dashes: "policy.device"
  std::filesystem::path config_path;  // the file --config_path led to, empty without the flag
  std::filesystem::path policy_path;  // --policy.path, empty without it; weights are in this folder
  std::optional<Json> file;           // content of that file
  std::vector<std::string> warnings;  // for the log
  bool help = false;
  std::string help_text;      // for stdout
  bool list_devices = false;  // asked for instead of a run: config is null

  bool was_typed(const std::string& flag) const { return typed.contains(flag); }
};
using ParsedCommand = ParsedCommandOf<TrainPipelineConfig>;
using ParsedEvalCommand = ParsedCommandOf<EvalPipelineConfig>;

// Reads, merges (command line over file over defaults), and completes (train_config.hpp) the configuration.
// Throws UsageError with everything that is wrong, one problem a line.
ParsedCommand parse_command_line(const std::vector<std::string>& args, const Registries& registries,
                                 std::string_view program);

// The same without complete(): what the user wrote, before anything is filled in. Adds to `problems` instead of
// throwing, except for files that cannot be read.
ParsedCommand read_command_line(const std::vector<std::string>& args, const Registries& registries,
                                std::string_view program, Problems& problems);

// parse_command_line for lerobot-eval.
ParsedEvalCommand parse_eval_command_line(const std::vector<std::string>& args, const Registries& registries,
                                          std::string_view program);

}  // namespace lerobot::config
