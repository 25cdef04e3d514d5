#include "processor_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/core/safetensors.hpp"
#include "lerobot/core/text.hpp"

namespace lerobot::processor {
namespace {

constexpr std::string_view kRename = "rename_observations_processor";
constexpr std::string_view kToBatch = "to_batch_processor";
constexpr std::string_view kDevice = "device_processor";
constexpr std::string_view kNormalizer = "normalizer_processor";
constexpr std::string_view kUnnormalizer = "unnormalizer_processor";

// Files may name a step by its Python class instead of its registry name.
constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
    {"RenameObservationsProcessorStep", kRename},
    {"AddBatchDimensionProcessorStep", kToBatch},
    {"DeviceProcessorStep", kDevice},
    {"NormalizerProcessorStep", kNormalizer},
    {"UnnormalizerProcessorStep", kUnnormalizer},
};

std::string_view name_of(Direction direction) {
  return direction == Direction::kPre ? "policy_preprocessor" : "policy_postprocessor";
}

std::vector<std::string> steps_of(Direction direction) {
  if (direction == Direction::kPre) {
    return {std::string(kRename), std::string(kToBatch), std::string(kDevice), std::string(kNormalizer)};
  }
  return {std::string(kUnnormalizer), std::string(kDevice)};
}

// Reads one pipeline's JSON; every error names the file and the step.
class Reader {
 public:
  Reader(const std::filesystem::path& directory, Direction direction)
      : directory_(directory), file_(pipeline_path(directory, direction)), direction_(direction) {}

  PipelineFile read() {
    require_file();
    const Json json = read_json(file_);
    if (!json.is_object() || !json.contains("steps") || !json["steps"].is_array()) {
      refuse("is not a processor file: it has no list `steps`");
    }
    for (const Json& step : json["steps"]) read_step(step);
    const std::string_view needed = direction_ == Direction::kPre ? kNormalizer : kUnnormalizer;
    if (!has(needed)) refuse(fmt::format("has no step `{}`", needed));
    return std::move(pipeline_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError(fmt::format("{} {}", file_.string(), what));
  }
  [[noreturn]] void refuse_field(const std::string& field, const std::string& what) const {
    refuse(fmt::format("step {} (`{}`): `{}` {}", seen_.size() - 1, seen_.back(), field, what));
  }
  bool has(std::string_view step) const { return std::find(seen_.begin(), seen_.end(), step) != seen_.end(); }

  void require_file() const {
    if (std::filesystem::exists(file_)) return;
    throw UsageError(fmt::format(
        "{} is missing. If the checkpoint is incomplete, copy its whole pretrained_model folder. If it was written by "
        "LeRobot before 0.4, which had no processor files, start a new run from its weights with --policy.path={} (and "
        "without --resume), or convert it with `python -m lerobot.processor.migrate_policy_normalization "
        "--pretrained-path {}`",
        file_.string(), directory_.string(), directory_.string()));
  }

  void read_step(const Json& step) {
    const std::string name = step_name(step);
    seen_.push_back(name);
    check_step(step);
    static const Json kEmpty = Json::object();
    const Json& config = step.contains("config") ? step["config"] : kEmpty;
    if (!config.is_object()) refuse_field("config", "is not an object");
    if (name == kRename) read_rename(config);
    if (name == kToBatch) only_fields(config, {});
    if (name == kDevice) read_device(config);
    if (name == kNormalizer || name == kUnnormalizer) read_normalizer(step, config);
  }

  std::string step_name(const Json& step) const {
    const std::string place = fmt::format("step {}", seen_.size());
    if (!step.is_object()) refuse(place + " is not an object");
    std::string name;
    if (step.contains("registry_name") && step["registry_name"].is_string()) {
      name = step["registry_name"].get<std::string>();
    } else if (step.contains("class") && step["class"].is_string()) {
      name = step["class"].get<std::string>();
      const std::string last = name.substr(name.rfind('.') + 1);
      for (const auto& [python_class, registry_name] : kClasses) {
        if (last == python_class) name = registry_name;
      }
    } else {
      refuse(place + " has neither `registry_name` nor `class`");
    }
    const auto known = steps_of(direction_);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      refuse(fmt::format("{} is `{}`, which is not supported here; supported are {}", place, name, join(known, ", ")));
    }
    return name;
  }

  // Twice the same step, or names changed after they were used, would mean something that this program does not do.
  void check_step(const Json& step) const {
    const std::string& name = seen_.back();
    if (std::count(seen_.begin(), seen_.end(), name) > 1) refuse(fmt::format("has the step `{}` twice", name));
    if (name == kRename && has(kNormalizer)) refuse(fmt::format("has `{}` after `{}`", kRename, kNormalizer));
    only_fields(step, {"registry_name", "class", "config", "state_file", "artifacts"});
    if (step.contains("artifacts") && !step["artifacts"].empty()) refuse_field("artifacts", "is not supported");
  }

  void only_fields(const Json& object, std::initializer_list<std::string> known) const {
    for (const auto& [field, value] : object.items()) {
      if (std::find(known.begin(), known.end(), field) != known.end()) continue;
      refuse_field(field, fmt::format("is not a known field{}", did_you_mean(field, std::vector<std::string>(known))));
    }
  }

  void read_rename(const Json& config) {
    only_fields(config, {"rename_map"});
    if (!config.contains("rename_map")) return;
    if (!config["rename_map"].is_object()) refuse_field("rename_map", "is not an object");
    for (const auto& [from, to] : config["rename_map"].items()) {
      if (!to.is_string()) refuse_field("rename_map", fmt::format("maps `{}` to something that is not a name", from));
      pipeline_.rename_map.set(from, to.get<std::string>());
    }
  }

  void read_device(const Json& config) {
    only_fields(config, {"device", "float_dtype"});
    if (config.contains("device")) {
      if (!config["device"].is_string()) refuse_field("device", "is not a text");
      pipeline_.device = config["device"].get<std::string>();
    }
    if (config.contains("float_dtype") && !config["float_dtype"].is_null()) {
      if (!config["float_dtype"].is_string()) refuse_field("float_dtype", "is not a text");
      pipeline_.float_dtype = config["float_dtype"].get<std::string>();
    }
  }

  void read_normalizer(const Json& step, const Json& config) {
    only_fields(config, {"eps", "features", "norm_map", "normalize_observation_keys"});
    NormalizerConfig& normalizer = pipeline_.normalizer;
    if (config.contains("eps")) {
      if (!config["eps"].is_number()) refuse_field("eps", "is not a number");
      normalizer.eps = config["eps"].get<double>();
    }
    if (config.contains("features")) read_features(config["features"]);
    if (config.contains("norm_map")) read_norm_map(config["norm_map"]);
    if (config.contains("normalize_observation_keys") && !config["normalize_observation_keys"].is_null()) {
      const Json& keys = config["normalize_observation_keys"];
      const bool names =
          keys.is_array() && std::all_of(keys.begin(), keys.end(), [](auto& key) { return key.is_string(); });
      if (!names) refuse_field("normalize_observation_keys", "is not a list of names");
      normalizer.normalize_observation_keys = keys.get<std::vector<std::string>>();
    }
    if (step.contains("state_file")) read_state(step["state_file"]);
  }

  void read_features(const Json& features) {
    if (!features.is_object()) refuse_field("features", "is not an object");
    for (const auto& [key, entry] : features.items()) {
      const bool complete = entry.is_object() && entry.contains("type") && entry["type"].is_string() &&
                            entry.contains("shape") && entry["shape"].is_array() &&
                            std::all_of(entry["shape"].begin(), entry["shape"].end(),
                                        [](const Json& size) { return size.is_number_integer(); });
      if (!complete) refuse_field("features", fmt::format("has no type and shape for `{}`", key));
      const auto type = parse_feature_type(entry["type"].get<std::string>());
      if (!type) refuse_field("features", fmt::format("gives `{}` the unknown type {}", key, entry["type"].dump()));
      pipeline_.normalizer.features.set(key, {*type, entry["shape"].get<std::vector<int64_t>>()});
    }
  }

  void read_norm_map(const Json& modes) {
    if (!modes.is_object()) refuse_field("norm_map", "is not an object");
    for (const auto& [type, mode] : modes.items()) {
      if (!parse_feature_type(type)) refuse_field("norm_map", fmt::format("has the unknown feature type `{}`", type));
      const auto parsed = mode.is_string() ? parse_normalization_mode(mode.get<std::string>()) : std::nullopt;
      if (!parsed) refuse_field("norm_map", fmt::format("gives {} the unknown mode {}", type, mode.dump()));
      pipeline_.normalizer.norm_map.set(type, *parsed);
    }
  }

  void read_state(const Json& name) {
    if (!name.is_string()) refuse_field("state_file", "is not a text");
    const auto path = directory_ / name.get<std::string>();
    if (!std::filesystem::exists(path)) {
      refuse_field("state_file", fmt::format("names {}, which is not in the folder: the checkpoint is incomplete, copy "
                                             "the whole pretrained_model folder",
                                             name.get<std::string>()));
    }
    pipeline_.stats = unflatten_stats(load_safetensors(path));
  }

  std::filesystem::path directory_, file_;
  Direction direction_;
  PipelineFile pipeline_;
  std::vector<std::string> seen_;
};

Json normalizer_json(const NormalizerConfig& normalizer) {
  Json features = Json::object();
  for (const auto& [key, feature] : normalizer.features) {
    features[key] = {{"type", to_string(feature.type)}, {"shape", feature.shape}};
  }
  Json modes = Json::object();
  for (const auto& [type, mode] : normalizer.norm_map) modes[type] = to_string(mode);
  Json config = {{"eps", normalizer.eps}, {"features", features}, {"norm_map", modes}};
  if (normalizer.normalize_observation_keys) {
    auto keys = *normalizer.normalize_observation_keys;
    std::sort(keys.begin(), keys.end());
    config["normalize_observation_keys"] = keys;
  }
  return config;
}

Json step_config(const std::string& step, const PipelineFile& pipeline) {
  if (step == kDevice) {
    const Json dtype = pipeline.float_dtype ? Json(*pipeline.float_dtype) : Json(nullptr);
    return {{"device", pipeline.device}, {"float_dtype", dtype}};
  }
  if (step == kRename) {
    Json map = Json::object();
    for (const auto& [from, to] : pipeline.rename_map) map[from] = to;
    return {{"rename_map", map}};
  }
  return step == kToBatch ? Json::object() : normalizer_json(pipeline.normalizer);
}

}  // namespace

std::filesystem::path pipeline_path(const std::filesystem::path& directory, Direction direction) {
  return directory / fmt::format("{}.json", name_of(direction));
}

PipelineFile read_pipeline(const std::filesystem::path& directory, Direction direction) {
  return Reader(directory, direction).read();
}

void write_pipeline(FileSystem& files, const std::filesystem::path& directory, Direction direction,
                    const PipelineFile& pipeline) {
  Json steps = Json::array();
  for (const std::string& step : steps_of(direction)) {
    Json entry = {{"registry_name", step}, {"config", step_config(step, pipeline)}};
    if ((step == kNormalizer || step == kUnnormalizer) && !pipeline.stats.empty()) {
      const auto state = fmt::format("{}_step_{}_{}.safetensors", name_of(direction), steps.size(), step);
      save_safetensors(files, directory / state, flatten_stats(pipeline.stats));
      entry["state_file"] = state;
    }
    steps.push_back(std::move(entry));
  }
  const Json json = {{"name", name_of(direction)}, {"steps", std::move(steps)}};
  files.write_file(pipeline_path(directory, direction), to_python_json(json, {.indent = 2}));
}

}  // namespace lerobot::processor
