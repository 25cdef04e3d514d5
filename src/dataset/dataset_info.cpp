#include "lerobot/dataset/dataset_info.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <regex>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"

namespace lerobot::dataset {
namespace {

constexpr std::array<std::string_view, 13> kNumericDtypes = {"float16", "float32", "float64", "int8",   "int16",
                                                             "int32",   "int64",   "uint8",   "uint16", "uint32",
                                                             "uint64",  "bool",    "float"};
constexpr int64_t kLargestFeature = int64_t{1} << 28;  // values a frame; beyond it, a slip or a damaged file
constexpr std::array<std::string_view, 14> kKnownKeys = {"codebase_version",
                                                         "fps",
                                                         "features",
                                                         "total_episodes",
                                                         "total_frames",
                                                         "total_tasks",
                                                         "chunks_size",
                                                         "data_files_size_in_mb",
                                                         "video_files_size_in_mb",
                                                         "data_path",
                                                         "video_path",
                                                         "robot_type",
                                                         "splits",
                                                         "tools"};
constexpr std::array<std::string_view, 5> kStandardColumns = {"timestamp", "frame_index", "episode_index", "index",
                                                              "task_index"};

template <class Range>
bool contains(const Range& range, std::string_view value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw UsageError(fmt::format("{}: {}", file.string(), what));
}

int64_t read_count(const Json& info, const std::filesystem::path& file, const char* key, int64_t fallback,
                   int64_t smallest) {
  if (!info.contains(key)) return fallback;
  const Json& value = info.at(key);
  if (!value.is_number_integer() || value.get<int64_t>() < smallest)
    fail(file, fmt::format("{} must be an integer of at least {}, got {}", key, smallest, value.dump()));
  return value.get<int64_t>();
}

std::optional<std::string> read_text(const Json& info, const std::filesystem::path& file, const char* key,
                                     std::optional<std::string> fallback) {
  if (!info.contains(key)) return fallback;
  const Json& value = info.at(key);
  if (value.is_null()) return std::nullopt;
  if (!value.is_string()) fail(file, fmt::format("{} must be a string, got {}", key, value.dump()));
  return value.get<std::string>();
}

bool is_true(const Json& feature, const char* section, const char* key) {
  if (!feature.contains(section) || !feature.at(section).is_object()) return false;
  const Json& values = feature.at(section);
  return values.contains(key) && values.at(key).is_boolean() && values.at(key).get<bool>();
}

FeatureSpec read_feature(const std::string& name, const Json& json, const std::filesystem::path& file) {
  if (name.find('/') != std::string::npos) fail(file, fmt::format("feature `{}`: a name must not hold \"/\"", name));
  if (!json.is_object() || !json.contains("dtype") || !json.at("dtype").is_string())
    fail(file, fmt::format("feature `{}` must be an object with a string \"dtype\"", name));
  FeatureSpec feature;
  feature.name = name;
  feature.dtype = json.at("dtype").get<std::string>();
  if (json.contains("names")) feature.names = json.at("names");
  feature.is_depth = is_true(json, "info", "is_depth_map") || is_true(json, "info", "video.is_depth_map") ||
                     is_true(json, "video_info", "video.is_depth_map");
  if (json.contains("info") && json.at("info").is_object()) {
    const Json& info = json.at("info");
    if (info.contains("depth_unit") && info.at("depth_unit").is_string())
      feature.depth_unit = info.at("depth_unit").get<std::string>();
  }
  if (!feature.is_numeric() && !feature.is_camera() && feature.dtype != "string" && feature.dtype != "language")
    fail(file, fmt::format("feature `{}` has dtype \"{}\"; known are video, image, string, language and the numpy "
                           "names float16 to float64, int8 to int64, uint8 to uint64, bool",
                           name, feature.dtype));
  const Json shape = json.contains("shape") ? json.at("shape") : Json();
  if (!shape.is_array()) fail(file, fmt::format("feature `{}` has no list \"shape\"", name));
  for (const Json& size : shape) {
    if (!size.is_number_integer() || size.get<int64_t>() < 1)
      fail(file,
           fmt::format("feature `{}` has shape {}; every size must be an integer of at least 1", name, shape.dump()));
    feature.shape.push_back(size.get<int64_t>());
  }
  const double values = std::accumulate(feature.shape.begin(), feature.shape.end(), 1.0, std::multiplies<>());
  if (values > kLargestFeature)
    fail(file,
         fmt::format("feature `{}` has shape {}: more than {} values a frame", name, shape.dump(), kLargestFeature));
  if (feature.is_camera() && feature.shape.size() != 3)
    fail(file, fmt::format("camera `{}` has shape {}; it must have 3 sizes", name, shape.dump()));
  if (feature.is_numeric() && (feature.shape.empty() || feature.shape.size() > 5))
    fail(file, fmt::format("feature `{}` has shape {}; it must have 1 to 5 sizes", name, shape.dump()));
  return feature;
}

std::vector<FeatureSpec> read_features(const Json& json, const std::filesystem::path& file) {
  if (!json.is_object()) fail(file, "\"features\" must be an object");
  std::vector<FeatureSpec> features;
  for (const auto& [name, feature] : json.items()) features.push_back(read_feature(name, feature, file));
  for (std::string_view column : kStandardColumns) {
    const bool found = std::any_of(features.begin(), features.end(), [&](const FeatureSpec& feature) {
      const bool is_float = feature.dtype.starts_with("float");
      return feature.name == column && feature.is_numeric() && feature.is_scalar() && feature.dtype != "bool" &&
             is_float == (column == "timestamp");
    });
    if (!found)
      fail(file, fmt::format("the standard feature `{}` ({}, shape [1]) is not among \"features\"", column,
                             column == "timestamp" ? "of floats" : "of integers"));
  }
  return features;
}

void check_version(const DatasetInfo& info, const std::filesystem::path& root, std::string_view repo_id) {
  std::smatch match;
  // Nine digits: what an int holds.
  if (!std::regex_search(info.codebase_version, match, std::regex(R"(^v?(\d{1,9})(?:\.(\d{1,9}))?)")))
    fail(info.file, fmt::format("codebase_version \"{}\" is not a version such as \"v3.0\"", info.codebase_version));
  const int major = std::stoi(match[1].str());
  const int minor = match[2].matched ? std::stoi(match[2].str()) : 0;
  if (major == 2 && minor >= 1) {
    fail(info.file, fmt::format("the dataset is in format {}; lerobot-train reads v3.0. Convert it with LeRobot:\n"
                                "  python -m lerobot.scripts.convert_dataset_v21_to_v30 --repo-id={} --root={} "
                                "--push-to-hub=false",
                                info.codebase_version, repo_id, root.string()));
  }
  if (major < 3) {
    fail(info.file, fmt::format("the dataset is in format {}; lerobot-train reads v3.0. Bring it to v2.1 with an older "
                                "LeRobot, then to v3.0 with lerobot.scripts.convert_dataset_v21_to_v30",
                                info.codebase_version));
  }
  if (major > 3) {
    fail(info.file, fmt::format("the dataset is in format {}, newer than this lerobot-train, which reads v3.0. Update "
                                "lerobot-train, or use a v3.x revision of the dataset (--dataset.revision=v3.0)",
                                info.codebase_version));
  }
  if (minor > 0)
    log::warning(
        fmt::format("{}: format {} is newer than v3.0, which this program knows; what v3.0 does not have is "
                    "not read",
                    info.file.string(), info.codebase_version));
}

}  // namespace

bool FeatureSpec::is_numeric() const {
  return contains(kNumericDtypes, dtype);
}

std::vector<int64_t> FeatureSpec::camera_shape() const {
  if (!names.is_array() || names.size() != 3 || !names[2].is_string())
    throw UsageError(
        fmt::format("Camera `{}` has names {} in meta/info.json, which do not say whether its shape [{}] is "
                    "height, width, channels. Set \"names\" to [\"height\", \"width\", \"channels\"] or "
                    "[\"channels\", \"height\", \"width\"]",
                    name, names.dump(), fmt::join(shape, ", ")));
  const auto last = names[2].get<std::string>();
  if (last == "channel" || last == "channels") return {shape[2], shape[0], shape[1]};
  return shape;
}

double FeatureSpec::depth_scale(std::string_view unit) const {
  if (!is_depth || !depth_unit || *depth_unit == unit) return 1;
  return *depth_unit == "m" ? 1000 : 0.001;
}

const FeatureSpec* DatasetInfo::find(std::string_view name) const {
  for (const FeatureSpec& feature : features)
    if (feature.name == name) return &feature;
  return nullptr;
}

std::vector<const FeatureSpec*> DatasetInfo::cameras() const {
  std::vector<const FeatureSpec*> cameras;
  for (const FeatureSpec& feature : features)
    if (feature.is_camera()) cameras.push_back(&feature);
  return cameras;
}

DatasetInfo load_dataset_info(const std::filesystem::path& root, std::string_view repo_id) {
  DatasetInfo info;
  info.file = root / "meta" / "info.json";
  const Json json = read_json(info.file);
  if (!json.is_object()) fail(info.file, "must hold an object");
  for (const char* key : {"codebase_version", "fps", "features"})
    if (!json.contains(key)) fail(info.file, fmt::format("\"{}\" is missing", key));

  info.codebase_version = read_text(json, info.file, "codebase_version", std::nullopt).value_or("null");
  check_version(info, root, repo_id);
  if (!json.at("fps").is_number() || !(json.at("fps").get<double>() > 0) ||
      !std::isfinite(json.at("fps").get<double>()))
    fail(info.file, fmt::format("fps must be positive, got {}", json.at("fps").dump()));
  info.fps = json.at("fps").get<double>();
  info.total_episodes = read_count(json, info.file, "total_episodes", 0, 0);
  info.total_frames = read_count(json, info.file, "total_frames", 0, 0);
  info.total_tasks = read_count(json, info.file, "total_tasks", 0, 0);
  info.chunks_size = read_count(json, info.file, "chunks_size", info.chunks_size, 1);
  read_count(json, info.file, "data_files_size_in_mb", 100, 1);
  read_count(json, info.file, "video_files_size_in_mb", 200, 1);
  info.data_path = read_text(json, info.file, "data_path", info.data_path).value_or(info.data_path);
  info.video_path = read_text(json, info.file, "video_path", info.video_path);
  info.robot_type = read_text(json, info.file, "robot_type", std::nullopt);
  info.features = read_features(json.at("features"), info.file);

  std::vector<std::string> unknown;
  for (const auto& [key, value] : json.items())
    if (!contains(kKnownKeys, key)) unknown.push_back(key);
  if (!unknown.empty())
    log::warning(fmt::format("{}: unknown keys are ignored: {}", info.file.string(), fmt::join(unknown, ", ")));
  return info;
}

PolicyFeatures policy_features(const DatasetInfo& info) {
  PolicyFeatures features;
  for (const FeatureSpec& feature : info.features) {
    if (feature.is_camera()) {
      features.inputs.set(feature.name, {FeatureType::kVisual, feature.camera_shape()});
    } else if (!feature.is_numeric()) {
      continue;
    } else if (feature.name == "observation.environment_state") {
      features.inputs.set(feature.name, {FeatureType::kEnv, feature.shape});
    } else if (feature.name.starts_with("observation")) {
      features.inputs.set(feature.name, {FeatureType::kState, feature.shape});
    } else if (feature.name.starts_with("action")) {
      features.outputs.set(feature.name, {FeatureType::kAction, feature.shape});
    }
  }
  return features;
}

std::filesystem::path format_data_path(std::string_view pattern, std::string_view video_key, int64_t chunk_index,
                                       int64_t file_index) {
  std::string path;
  size_t at = 0;
  for (size_t open; (open = pattern.find('{', at)) != std::string_view::npos;) {
    const size_t close = pattern.find('}', open);
    const bool is_closed = close != std::string_view::npos;
    const std::string_view field = pattern.substr(open + 1, is_closed ? close - open - 1 : close);
    path += pattern.substr(at, open - at);
    at = is_closed ? close + 1 : pattern.size();

    const size_t colon = std::min(field.find(':'), field.size());
    const std::string_view name = field.substr(0, colon);
    std::string_view spec = field.substr(std::min(colon + 1, field.size()));  // "", "d", "3d", "03d"
    if (name == "video_key" && spec.empty() && is_closed) {
      path += video_key;
      continue;
    }
    if (spec.ends_with('d')) spec.remove_suffix(1);
    const bool is_number = std::all_of(spec.begin(), spec.end(), [](char c) { return c >= '0' && c <= '9'; });
    if ((name != "chunk_index" && name != "file_index") || !is_number || spec.size() > 2 || !is_closed)
      throw UsageError(
          fmt::format("meta/info.json: the path \"{}\" holds {{{}}}; known are {{video_key}}, "
                      "{{chunk_index:03d}} and {{file_index:03d}}",
                      pattern, field));
    const int64_t value = name == "chunk_index" ? chunk_index : file_index;
    const int width = spec.empty() ? 0 : std::stoi(std::string(spec));
    path += spec.starts_with('0') ? fmt::format("{:0{}d}", value, width) : fmt::format("{:{}d}", value, width);
  }
  path += pattern.substr(at);
  return path;
}

}  // namespace lerobot::dataset
