#include "lerobot/checkpoint/training_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "lerobot/checkpoint/rng_state.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStepFile = "training_step.json";
constexpr const char* kRngFile = "rng_state.safetensors";
constexpr const char* kOptimizerFile = "optimizer_state.safetensors";
constexpr const char* kParamGroupsFile = "optimizer_param_groups.json";
constexpr const char* kSchedulerFile = "scheduler_state.json";
constexpr const char* kScalerFile = "scaler_state.json";
constexpr const char* kEmaFile = "ema_state.pt";
constexpr const char* kAccumulatedGradientsFile = "accumulated_gradients.safetensors";
constexpr const char* kOursFile = "lerobot_cpp.json";

constexpr const char* kFormatVersionKey = "format_version";
constexpr int64_t kFormatVersion = 1;  // of lerobot_cpp.json

// ---------------------------------------------------------------- writing

void write_json(FileSystem& files, const fs::path& path, const Json& value) {
  files.write_file(path, to_python_json(value, {.indent = 4, .ensure_ascii = false}));
}

Json training_step(const TrainingState& state) {
  Json json = {{"step", state.step}};
  if (state.dp_world_size) json["dp_world_size"] = *state.dp_world_size;
  if (state.batch_size) json["batch_size"] = *state.batch_size;
  if (state.grad_accum_steps) json["grad_accum_steps"] = *state.grad_accum_steps;
  if (state.parallelism) {
    json["parallelism"] = {{"dp_replicate", state.parallelism->dp_replicate},
                           {"dp_shard", state.parallelism->dp_shard},
                           {"ring_degree", state.parallelism->ring_degree},
                           {"ulysses_degree", state.parallelism->ulysses_degree}};
  }
  // What LeRobot 0.6.1 calls dp_world_size; later ones ignore it.
  if (state.dp_world_size) json["num_processes"] = *state.dp_world_size;
  return json;
}

Json with_format_version(const Json& ours) {
  Json json = {{kFormatVersionKey, kFormatVersion}};
  for (const auto& [key, value] : ours.items()) {
    if (key != kFormatVersionKey) json[key] = value;
  }
  return json;
}

// ---------------------------------------------------------------- reading

// One training_state folder; every refusal names the file in it.
class Reader {
 public:
  explicit Reader(const fs::path& step_directory)
      : step_directory_(step_directory), directory_(step_directory / kTrainingStateDirectory) {
    std::error_code ignored;
    if (!fs::is_directory(step_directory_, ignored)) {
      throw UsageError(fmt::format("there is no checkpoint {}", step_directory_.string()));
    }
    if (!fs::is_directory(directory_, ignored)) refuse(fmt::format("{} is missing", directory_.string()));
  }

  fs::path path(const char* name) const { return directory_ / name; }
  bool has(const char* name) const {
    std::error_code ignored;
    return fs::exists(path(name), ignored);
  }

  fs::path required(const char* name) const {
    if (!has(name)) refuse(fmt::format("{} is missing", path(name).string()));
    return path(name);
  }

  Json object(const char* name) const {
    Json json = read_json(required(name));
    if (!json.is_object()) throw UsageError(fmt::format("{}: must hold an object", path(name).string()));
    return json;
  }

  std::optional<Json> optional_object(const char* name) const {
    return has(name) ? std::optional(object(name)) : std::nullopt;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw UsageError(
        fmt::format("cannot resume from {}: {}. Resume from another checkpoint, or start a new run from these weights "
                    "with --policy.path={}",
                    step_directory_.string(), problem, (step_directory_ / kPretrainedModelDirectory).string()));
  }

  fs::path step_directory_;
  fs::path directory_;
};

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

// json[key] as an integer from `least` up; nothing when it is absent or null.
std::optional<int64_t> integer(const Json& json, const char* key, int64_t least, const fs::path& source) {
  if (!json.contains(key) || json[key].is_null()) return std::nullopt;
  const Json& value = json[key];
  if (!value.is_number_integer() || value.is_number_unsigned() || value < least) {
    throw UsageError(fmt::format("{}: {} must be an integer from {} up, got {}", source.string(), key, least,
                                 to_python_json(value, {.indent = -1})));
  }
  return value.get<int64_t>();
}

std::optional<Parallelism> parallelism(const Json& json, const fs::path& source) {
  if (!json.contains("parallelism") || json["parallelism"].is_null()) return std::nullopt;
  const Json& section = json["parallelism"];
  if (!section.is_object()) throw UsageError(fmt::format("{}: parallelism must be an object", source.string()));
  Parallelism result;
  const auto degree = [&](const char* key, int64_t& member) {
    member = integer(section, key, 1, source).value_or(member);
  };
  degree("dp_replicate", result.dp_replicate);
  degree("dp_shard", result.dp_shard);
  degree("ring_degree", result.ring_degree);
  degree("ulysses_degree", result.ulysses_degree);
  return result;
}

TrainingState read_step(const Reader& reader) {
  const fs::path source = reader.path(kStepFile);
  const Json json = reader.object(kStepFile);
  TrainingState state;
  const std::optional<int64_t> step = integer(json, "step", 0, source);
  if (!step) throw UsageError(fmt::format("{}: step is missing", source.string()));
  state.step = *step;
  state.dp_world_size = integer(json, "dp_world_size", 1, source);
  if (!state.dp_world_size) state.dp_world_size = integer(json, "num_processes", 1, source);
  state.batch_size = integer(json, "batch_size", 1, source);
  state.grad_accum_steps = integer(json, "grad_accum_steps", 1, source);
  state.parallelism = parallelism(json, source);
  return state;
}

Json read_param_groups(const fs::path& source) {
  Json groups = read_json(source);
  const auto is_group = [](const Json& group) {
    return group.is_object() && group.contains("params") && group["params"].is_array() &&
           std::all_of(group["params"].begin(), group["params"].end(),
                       [](const Json& index) { return index.is_number_integer() && index >= 0; });
  };
  if (!groups.is_array() || groups.empty() || !std::all_of(groups.begin(), groups.end(), is_group)) {
    throw UsageError(
        fmt::format("{}: must hold a list of objects, each with params, a list of parameter indices", source.string()));
  }
  return groups;
}

std::optional<optim::EmaState> read_ema(const Reader& reader) {
  if (reader.has(kEmaFile)) return optim::read_ema_state(reader.path(kEmaFile));
  log::warning(
      fmt::format("Resuming with --ema.enable=true, but {} is missing: the average starts anew from the "
                  "checkpoint's weights",
                  reader.path(kEmaFile).string()));
  return std::nullopt;
}

TensorMap read_accumulated_gradients(const fs::path& source) {
  TensorMap gradients = load_safetensors(source);
  for (const auto& [name, tensor] : gradients) {
    constexpr std::string_view kPrefix = "grad/";
    const std::string_view index = std::string_view(name).substr(std::min(name.size(), kPrefix.size()));
    if (name.starts_with(kPrefix) && !index.empty() && std::ranges::all_of(index, is_digit)) continue;
    throw UsageError(fmt::format("{}: {} is not of the form grad/<index of a parameter>", source.string(), name));
  }
  return gradients;
}

void check_format_version(const Json& ours, const fs::path& source) {
  const std::optional<int64_t> version = integer(ours, kFormatVersionKey, 1, source);
  if (!version) throw UsageError(fmt::format("{}: {} is missing", source.string(), kFormatVersionKey));
  if (*version > kFormatVersion) {
    throw UsageError(fmt::format("{}: written by a newer lerobot-cpp ({} {}, this program reads up to {}); update it",
                                 source.string(), kFormatVersionKey, *version, kFormatVersion));
  }
}

}  // namespace

void write_training_state(FileSystem& files, const fs::path& directory, const TrainingState& state) {
  write_json(files, directory / kStepFile, training_step(state));
  save_safetensors(files, directory / kRngFile, state.rng);
  save_safetensors(files, directory / kOptimizerFile, state.optimizer);
  write_json(files, directory / kParamGroupsFile, state.param_groups);
  if (state.scheduler) write_json(files, directory / kSchedulerFile, *state.scheduler);
  if (state.scaler) write_json(files, directory / kScalerFile, *state.scaler);
  if (state.ema) optim::write_ema_state(files, directory / kEmaFile, *state.ema);
  if (!state.accumulated_gradients.empty()) {
    save_safetensors(files, directory / kAccumulatedGradientsFile, state.accumulated_gradients);
  }
  if (state.lerobot_cpp) write_json(files, directory / kOursFile, with_format_version(*state.lerobot_cpp));
}

TrainingState load_training_state(const fs::path& step_directory, const LoadOptions& options) {
  const Reader reader(step_directory);
  TrainingState state = read_step(reader);
  state.rng = load_safetensors(reader.required(kRngFile));
  check_rng_state(state.rng, reader.path(kRngFile).string());
  state.optimizer = load_safetensors(reader.required(kOptimizerFile));
  state.param_groups = read_param_groups(reader.required(kParamGroupsFile));
  if (options.needs_scheduler) reader.required(kSchedulerFile);
  state.scheduler = reader.optional_object(kSchedulerFile);
  state.scaler = reader.optional_object(kScalerFile);
  if (options.needs_ema) state.ema = read_ema(reader);
  if (reader.has(kAccumulatedGradientsFile)) {
    state.accumulated_gradients = read_accumulated_gradients(reader.path(kAccumulatedGradientsFile));
  }
  state.lerobot_cpp = reader.optional_object(kOursFile);
  if (state.lerobot_cpp) check_format_version(*state.lerobot_cpp, reader.path(kOursFile));
  return state;
}

TrainingState load_training_step(const fs::path& step_directory) {
  return read_step(Reader(step_directory));
}

}  // namespace lerobot::checkpoint
