#include "lerobot/config/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "arguments.hpp"
#include "config_file.hpp"
#include "flag_table.hpp"
#include "lerobot/config/pretrained.hpp"
#include "lerobot/core/error.hpp"
#include "value_text.hpp"

namespace lerobot::config {
namespace {

// The types asked for on the command line. For help and for knowing a flag's kind; what counts is read later.
ChosenTypes chosen_types(std::span<const std::string> args) {
  ChosenTypes chosen;
  for (const char* section : {"policy", "optimizer", "scheduler", "env", "reward_model"}) {
    const std::string type = find_argument(args, fmt::format("{}.type", section), true);
    if (!type.empty()) chosen[section] = type;
  }
  return chosen;
}

// tree["a"]["b"] = value for "a.b". A null on the way becomes a dict; anything else there is no section, which is a
// UsageError.
void set_dotted(Json& tree, const std::string& name, Json value) {
  Json* node = &tree;
  size_t begin = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
    node = &(*node)[name.substr(begin, dot - begin)];
    if (node->is_null()) *node = Json::object();
    if (!node->is_object()) {
      throw UsageError(fmt::format("--{}: expected a dict of fields, got '{}'", name.substr(0, dot), brief(*node)));
    }
    begin = dot + 1;
  }
  (*node)[name.substr(begin)] = std::move(value);
}

// Was this field, or a section around it, given on the command line?
bool is_typed(const std::set<std::string>& typed, std::string_view dotted) {
  while (!dotted.empty()) {
    if (typed.contains(std::string(dotted))) return true;
    const size_t dot = dotted.rfind('.');
    dotted = dotted.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return false;
}

// Takes "path" out of the file's policy section, as YAML files may say `policy: {path: …}`.
std::string take_policy_path(Json& file) {
  if (!file.contains("policy") || !file["policy"].is_object() || !file["policy"].contains("path")) return "";
  const std::string path = brief(file["policy"]["path"]);
  file["policy"].erase("path");
  file["policy"].erase("type");
  return path;
}

// Older LeRobots named the steps between evaluations in the environment eval_freq.
void rename_old_keys(Json& file, const std::filesystem::path& path, Problems& problems) {
  if (!file.contains("eval_freq")) return;
  if (!file.contains("env_eval_freq")) file["env_eval_freq"] = file["eval_freq"];
  file.erase("eval_freq");
  problems.warn("", fmt::format("{}: `eval_freq` is read as `env_eval_freq`, its present name", path.string()));
}

std::optional<std::string> text_in(const Json& tree, const char* key) {
  if (!tree.is_object() || !tree.contains(key) || !tree[key].is_string()) return std::nullopt;
  return tree[key].get<std::string>();
}

// The configuration of the policy that --policy.path names, with `overrides` (of a file) and then `flags` on top.
struct PretrainedPolicy {
  std::filesystem::path folder;
  Json config;
};
PretrainedPolicy read_pretrained_policy(const std::string& path, const Json& overrides, const Json& flags) {
  auto revision = text_in(flags, "pretrained_revision");
  if (!revision) revision = text_in(overrides, "pretrained_revision");
  PretrainedPolicy policy{.folder = find_pretrained_folder(path, revision, "policy.path"), .config = {}};
  policy.config = read_pretrained_config(policy.folder);
  deep_merge(policy.config, overrides);
  deep_merge(policy.config, flags);
  policy.config["pretrained_path"] = path;
  // What the folder's own configuration says is about where it started from itself.
  if (is_hub_repository(path)) policy.config["pretrained_revision"] = revision ? Json(*revision) : Json(nullptr);
  return policy;
}

// Flags whose types are not here would all be unknown: one problem, that of the type, is enough.
bool is_below_missing_type(const std::string& name, const ChosenTypes& chosen, Section& root) {
  for (const Field& field : fields_of(root)) {
    const SectionSlot* slot = field.value->slot();
    const auto found = chosen.find(field.name);
    if (!slot || !slot->is_choice() || found == chosen.end() || !name.starts_with(field.name + ".")) continue;
    if (!slot->make(found->second)) return true;
  }
  return false;
}

struct Flags {
  Json tree = Json::object();
  std::set<std::string> typed;
};

// Reads the values of all flags but those that name files.
Flags read_flags(const FlagTable& table, const Dialect dialect, const Dialect policy_dialect, Problems& problems) {
  Flags flags;
  for (const auto& [name, text] : table.values()) {
    flags.typed.insert(name);
    if (name == "config_path" || name == "policy.path") {
      if (text.empty()) problems.add(name, "is empty; give a path");
      continue;
    }
    if (name == "output_dir" && text.empty()) problems.add(name, "is empty; give a folder, or leave the flag out");
    const Dialect used = name.starts_with("policy.") ? policy_dialect : dialect;
    try {
      set_dotted(flags.tree, name,
                 table.is_text(name) ? parse_text_value(text, used) : parse_value(text, used, "--" + name));
    } catch (const UsageError& error) {
      problems.add_line(error.what());
    }
  }
  return flags;
}

FlagTable parse_arguments(std::span<const std::string> args, const ChosenTypes& chosen, Section& root,
                          const Program& program, Problems& problems) {
  FlagTable table(root, chosen, true, program);
  const auto is_known = [&](const std::string& name) { return table.contains(name); };
  const auto hint = [&](const std::string& name) -> std::string {
    if (name.find("discover_packages_path") != std::string::npos) return " Python plug-ins cannot be loaded here.";
    if (name == "reward_model.path") return " Reward models are not implemented yet.";
    return table.hint(name);
  };
  Problems all;
  std::vector<std::string> kept;
  for (const Argument& argument : split_arguments(args, is_known, hint, all)) table.add(argument.name, argument.value);
  for (const std::string& line : all.lines()) {
    const std::string name = line.starts_with("--") ? line.substr(2, line.find(':') - 2) : "";
    if (!is_below_missing_type(name, chosen, root)) problems.add_line(line);
  }
  return table;
}

constexpr const char* kTrainPurpose = "Trains a policy on a LeRobotDataset.";
constexpr const char* kTrainConfigHelp =
    "JSON or YAML file with values for any of these, or the folder (or cached Hub repository) of a train_config.json";
constexpr const char* kEvalPurpose = "Evaluates a policy in a simulation.";
constexpr const char* kEvalConfigHelp = "JSON or YAML file with values for any of these";

// Everything but what only one of the programs has to do with its configuration.
template <class Config>
ParsedCommandOf<Config> read(const std::vector<std::string>& args, const Registries& registries, Program program,
                             Problems& problems) {
  ParsedCommandOf<Config> command;
  const ChosenTypes chosen = chosen_types(args);
  Config defaults(registries);
  if (asks_for_help(args)) {
    command.help = true;
    command.help_text = FlagTable(defaults, chosen, false, program).help();
    return command;
  }
  command.list_devices = asks_for_devices(args);
  if (command.list_devices) return command;
  const FlagTable table = parse_arguments(args, chosen, defaults, program, problems);

  Json tree = Json::object();
  const std::string config_path = find_argument(args, "config_path", true);
  if (config_path != find_argument(args, "config_path", false)) problems.add("config_path", "is given twice");
  std::string policy_path;
  if (!config_path.empty()) {
    const bool is_from_hub = is_hub_repository(config_path);
    ConfigFile file = read_config_file(is_from_hub ? find_pretrained_folder(config_path, std::nullopt, "config_path")
                                                   : std::filesystem::path(config_path));
    command.config_path = file.path;
    command.file = file.content;
    tree = std::move(file.content);
    if (file.path.extension() == ".json") rename_old_keys(tree, file.path, problems);
    policy_path = take_policy_path(tree);
  }
  const std::string typed_path = find_argument(args, "policy.path", true);
  if (!typed_path.empty()) {
    if (policy_path.empty()) tree.erase("policy");  // the folder's configuration takes its place
    policy_path = typed_path;
  }

  const Dialect dialect = config_path.empty() ? Dialect::kYaml : Dialect::kJson;
  Flags flags = read_flags(table, dialect, policy_path.empty() ? dialect : Dialect::kJson, problems);
  command.typed = flags.typed;
  if (!policy_path.empty()) {
    if (command.was_typed("policy.type")) {
      problems.add("policy.type", "and --policy.path exclude each other: the folder's config.json names the type");
    }
    const auto part = [](const Json& json) { return json.contains("policy") ? json["policy"] : Json::object(); };
    PretrainedPolicy policy = read_pretrained_policy(policy_path, part(tree), part(flags.tree));
    flags.tree["policy"] = std::move(policy.config);
    tree.erase("policy");
    command.policy_path = policy.folder;
  }
  deep_merge(tree, flags.tree);

  command.config = std::make_unique<Config>(registries);
  problems.set_source([&](std::string_view field) -> std::string {
    if (is_typed(command.typed, field)) return "";
    if (!policy_path.empty() && field.starts_with("policy.")) return (command.policy_path / "config.json").string();
    return command.config_path.string();
  });
  read_section(tree, *command.config, problems);
  problems.set_source(nullptr);
  command.config->eval.resolve(std::max(1u, std::thread::hardware_concurrency()));
  if (command.config->env) command.config->env->resolve();
  return command;
}

}  // namespace

ParsedCommand read_command_line(const std::vector<std::string>& args, const Registries& registries,
                                std::string_view program, Problems& problems) {
  ParsedCommand command = read<TrainPipelineConfig>(
      args, registries, {.name = program, .purpose = kTrainPurpose, .config_path_help = kTrainConfigHelp}, problems);
  if (!command.config) return command;
  // The recorded folder is one of the machine that the repository was filled from.
  const bool resumes_from_hub = command.config->resume && is_hub_repository(find_argument(args, "config_path", true));
  if (resumes_from_hub && !command.was_typed("output_dir")) command.config->output_dir.reset();
  command.config->dataset.resolve(problems);
  command.warnings = problems.warnings();
  return command;
}

ParsedCommand parse_command_line(const std::vector<std::string>& args, const Registries& registries,
                                 std::string_view program) {
  Problems problems;
  ParsedCommand command = read_command_line(args, registries, program, problems);
  if (!command.config) return command;
  complete(*command.config,
           {.config_path = command.config_path,
            .has_policy_path = !command.policy_path.empty(),
            .typed = command.typed,
            .file = command.file.value_or(Json())},
           problems);
  problems.throw_if_any();
  command.warnings = problems.warnings();
  return command;
}

ParsedEvalCommand parse_eval_command_line(const std::vector<std::string>& args, const Registries& registries,
                                          std::string_view program) {
  Problems problems;
  ParsedEvalCommand command = read<EvalPipelineConfig>(
      args, registries, {.name = program, .purpose = kEvalPurpose, .config_path_help = kEvalConfigHelp}, problems);
  if (!command.config) return command;
  complete(*command.config, !command.policy_path.empty(), std::chrono::system_clock::now(), problems);
  problems.throw_if_any();
  command.warnings = problems.warnings();
  return command;
}

}  // namespace lerobot::config
