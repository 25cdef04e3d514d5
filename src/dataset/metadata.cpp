#include "lerobot/dataset/metadata.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "data_files.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "parquet_file.hpp"

namespace lerobot::dataset {
namespace fs = std::filesystem;
namespace {

// Of a whole dataset; thirty years at 60 Hz. Sums of lengths below it cannot overflow.
constexpr int64_t kMostFrames = int64_t{1} << 36;

void append_episodes(const ParquetFile& file, const std::vector<std::string>& cameras, std::vector<Episode>& episodes) {
  const auto index = file.read_integers("episode_index");
  const auto length = file.read_integers("length");
  const auto from = file.read_integers("dataset_from_index");
  const auto to = file.read_integers("dataset_to_index");
  const auto data_chunk = file.read_integers("data/chunk_index");
  const auto data_file = file.read_integers("data/file_index");
  const auto tasks =
      file.has_column("tasks") ? file.read_text_lists("tasks") : std::vector<std::vector<std::string>>(index.size());
  const size_t first = episodes.size();
  for (size_t row = 0; row < index.size(); ++row) {
    const auto expected = static_cast<int64_t>(first + row);
    if (index[row] != expected)
      throw UsageError(
          fmt::format("{}: row {} of the episode table is episode {}, it must be episode {}; the table is "
                      "out of order or a file of meta/episodes is missing",
                      file.path().string(), expected, index[row], expected));
    const bool is_range = 0 <= from[row] && from[row] < to[row] && to[row] <= kMostFrames;
    if (!is_range || to[row] - from[row] != length[row])
      throw UsageError(fmt::format("{}: episode {} has length {}, but its frames are {} to {} (exclusive)",
                                   file.path().string(), index[row], length[row], from[row], to[row]));
    episodes.push_back({length[row], from[row], to[row], data_chunk[row], data_file[row], tasks[row], {}});
  }
  for (const std::string& camera : cameras) {
    const std::string prefix = "videos/" + camera + "/";
    const auto chunk_index = file.read_integers(prefix + "chunk_index");
    const auto file_index = file.read_integers(prefix + "file_index");
    const auto from_timestamp = file.read_doubles(prefix + "from_timestamp");
    const auto to_timestamp = file.read_doubles(prefix + "to_timestamp");
    for (size_t row = 0; row < index.size(); ++row) {
      if (!std::isfinite(from_timestamp[row]) || !std::isfinite(to_timestamp[row]))
        throw UsageError(
            fmt::format("{}: episode {} of camera `{}` lasts from {} to {} seconds of its video, which "
                        "must be numbers",
                        file.path().string(), index[row], camera, from_timestamp[row], to_timestamp[row]));
      episodes[first + row].videos[camera] = {chunk_index[row], file_index[row], from_timestamp[row],
                                              to_timestamp[row]};
    }
  }
}

std::vector<Episode> load_episodes(const fs::path& root, const DatasetInfo& info) {
  std::vector<std::string> cameras;
  for (const FeatureSpec& feature : info.features)
    if (feature.is_video()) cameras.push_back(feature.name);
  std::vector<Episode> episodes;
  for (const fs::path& path : parquet_files(root / "meta" / "episodes"))
    append_episodes(ParquetFile(path), cameras, episodes);
  return episodes;
}

// The column that pandas kept as its index, which LeRobot takes for the sentence; else the first text column.
std::string sentence_column(const ParquetFile& file) {
  if (const auto pandas = file.key_value("pandas")) {
    const Json description = parse_json(*pandas, file.path().string() + " (pandas metadata)");
    const Json index =
        description.is_object() && description.contains("index_columns") ? description["index_columns"] : Json();
    if (index.is_array() && !index.empty() && index[0].is_string() && file.has_column(index[0].get<std::string>()))
      return index[0].get<std::string>();
  }
  const auto text = file.text_columns();
  if (text.empty())
    throw UsageError(fmt::format("{}: no column holds text; the task sentences are missing", file.path().string()));
  return text.front();
}

std::map<int64_t, std::string> load_tasks(const fs::path& root) {
  const ParquetFile file(root / "meta" / "tasks.parquet");
  const auto index = file.read_integers("task_index");
  const auto sentences = file.read_text(sentence_column(file));
  std::map<int64_t, std::string> tasks;
  bool is_in_order = true;
  for (size_t row = 0; row < index.size(); ++row) {
    if (!tasks.emplace(index[row], sentences[row]).second)
      throw UsageError(fmt::format("{}: task_index {} stands there twice", file.path().string(), index[row]));
    is_in_order = is_in_order && index[row] == static_cast<int64_t>(row);
  }
  if (!is_in_order)
    log::warning(
        fmt::format("{}: rows are not in task_index order. Sentences are taken by task_index here; LeRobot takes "
                    "them by row, and so sees other sentences",
                    file.path().string()));
  return tasks;
}

// A stat is a number or nested lists of numbers of equal lengths; `shape` is filled on the way down.
void append_numbers(const Json& json, size_t depth, std::vector<int64_t>& shape, std::vector<float>& values, bool& ok) {
  if (json.is_number() || json.is_boolean()) {
    ok = ok && depth == shape.size();
    values.push_back(json.is_boolean() ? static_cast<float>(json.get<bool>()) : static_cast<float>(json.get<double>()));
    return;
  }
  if (!json.is_array() || json.empty()) {
    ok = false;
    return;
  }
  if (values.empty()) shape.push_back(static_cast<int64_t>(json.size()));
  ok = ok && depth < shape.size() && shape[depth] == static_cast<int64_t>(json.size());
  for (const Json& item : json)
    if (ok) append_numbers(item, depth + 1, shape, values, ok);
}

std::optional<FeatureStats> load_stats(const fs::path& root) {
  const fs::path path = root / "meta" / "stats.json";
  if (!fs::exists(path)) return std::nullopt;
  const Json json = read_json(path);
  if (!json.is_object()) throw UsageError(fmt::format("{}: must hold an object", path.string()));
  FeatureStats stats;
  for (const auto& [feature, entry] : json.items()) {
    if (!entry.is_object()) throw UsageError(fmt::format("{}: `{}` must be an object", path.string(), feature));
    for (const auto& [stat, numbers] : entry.items()) {
      std::vector<int64_t> shape;
      std::vector<float> values;
      bool ok = true;
      append_numbers(numbers, 0, shape, values, ok);
      if (!ok) throw UsageError(fmt::format("{}: `{}` of `{}` is not a list of numbers", path.string(), stat, feature));
      stats[feature][stat] = torch::tensor(values, torch::kFloat32).reshape(shape);
    }
  }
  return stats;
}

void rescale_depth_stats(FeatureStats& stats, const DatasetInfo& info, const std::string& unit) {
  for (const FeatureSpec& feature : info.features) {
    const double scale = feature.depth_scale(unit);
    if (scale == 1 || !stats.count(feature.name)) continue;
    for (auto& [stat, value] : stats.at(feature.name))
      if (stat != "count") value = value * scale;
  }
}

// The rows that an mp4 segment covers. A writer other than LeRobot's may give the last frame's time as the end, one
// frame short in every episode.
void warn_about_video_lengths(const Metadata& metadata) {
  for (const FeatureSpec& feature : metadata.info.features) {
    if (!feature.is_video()) continue;
    std::vector<int64_t> differing;
    bool all_one_short = true;
    for (size_t i = 0; i < metadata.episodes.size(); ++i) {
      const Episode& episode = metadata.episodes[i];
      const VideoSegment& segment = episode.videos.at(feature.name);
      const double frames = std::nearbyint((segment.to_timestamp - segment.from_timestamp) * metadata.info.fps);
      const auto length = static_cast<double>(episode.length);
      all_one_short = all_one_short && frames == length - 1;
      if (frames != length) differing.push_back(static_cast<int64_t>(i));
    }
    if (differing.empty() || all_one_short) continue;
    log::warning(
        fmt::format("Camera `{}`: the video of {} episode(s), the first is episode {}, is not as long as their "
                    "rows say; where it is shorter, frames may be those of the next episode",
                    feature.name, differing.size(), differing.front()));
  }
}

void warn_about_totals(const Metadata& metadata) {
  const DatasetInfo& info = metadata.info;
  int64_t frames = 0;
  for (const Episode& episode : metadata.episodes) frames += episode.length;
  const auto warn = [&](const char* key, int64_t said, int64_t found, const char* where) {
    if (said != found)
      log::warning(
          fmt::format("{}: {} is {}, but {} holds {}; the latter counts", info.file.string(), key, said, where, found));
  };
  warn("total_episodes", info.total_episodes, std::ssize(metadata.episodes), "meta/episodes");
  warn("total_frames", info.total_frames, frames, "meta/episodes");
  warn("total_tasks", info.total_tasks, std::ssize(metadata.tasks), "meta/tasks.parquet");
}

}  // namespace

fs::path Metadata::data_file(const Episode& episode) const {
  return root / format_data_path(info.data_path, "", episode.data_chunk_index, episode.data_file_index);
}

fs::path Metadata::video_file(const Episode& episode, const std::string& camera) const {
  if (!info.video_path)
    throw UsageError(fmt::format("{}: video_path is null, but `{}` is a video", info.file.string(), camera));
  const VideoSegment& segment = episode.videos.at(camera);
  return root / format_data_path(*info.video_path, camera, segment.chunk_index, segment.file_index);
}

Metadata load_metadata(const fs::path& root, const std::string& repo_id, const std::string& depth_output_unit) {
  Metadata metadata{root, repo_id, load_dataset_info(root, repo_id), {}, {}, {}, depth_output_unit};
  metadata.episodes = load_episodes(root, metadata.info);
  metadata.tasks = load_tasks(root);
  metadata.stats = load_stats(root);
  if (metadata.stats) rescale_depth_stats(*metadata.stats, metadata.info, depth_output_unit);
  warn_about_totals(metadata);
  warn_about_video_lengths(metadata);
  return metadata;
}

Metadata load_metadata(const DatasetLocation& location, const std::string& depth_output_unit) {
  return load_metadata(find_dataset_root(location), location.repo_id, depth_output_unit);
}

const FeatureStats& required_stats(const Metadata& metadata) {
  if (metadata.stats) return *metadata.stats;
  throw UsageError(fmt::format(
      "{}: the dataset has no statistics, which normalisation needs for states and actions "
      "(--dataset.use_imagenet_stats covers cameras only). Compute them with LeRobot:\n"
      "  lerobot-edit-dataset --repo_id {} --root {} --new_repo_id {} --operation.type recompute_stats "
      "--operation.overwrite true",
      (metadata.root / "meta" / "stats.json").string(), metadata.repo_id, metadata.root.string(), metadata.repo_id));
}

void apply_imagenet_stats(FeatureStats& stats, const DatasetInfo& info) {
  for (const FeatureSpec* camera : info.cameras()) {
    if (camera->is_depth) continue;
    stats[camera->name]["mean"] = torch::tensor({0.485F, 0.456F, 0.406F}).reshape({3, 1, 1});
    stats[camera->name]["std"] = torch::tensor({0.229F, 0.224F, 0.225F}).reshape({3, 1, 1});
  }
}

void warn_about_camera_stats(const FeatureStats& stats, const DatasetInfo& info) {
  for (const FeatureSpec* camera : info.cameras()) {
    const auto entry = stats.find(camera->name);
    if (camera->is_depth || entry == stats.end() || !entry->second.count("std")) continue;
    const auto smallest = entry->second.at("std").min().item<float>();
    if (smallest < 0.02F)
      log::warning(
          fmt::format("Camera `{}`: its standard deviation in meta/stats.json is {:.3g}, too small for pictures "
                      "(early LeRobot v3.0 recorders computed it wrongly). Recompute the statistics with "
                      "lerobot-edit-dataset --operation.type recompute_stats, or leave "
                      "--dataset.use_imagenet_stats=true",
                      camera->name, smallest));
  }
}

EpisodeSplit split_episodes(const Metadata& metadata, const std::vector<int64_t>& episodes, double fraction) {
  OrderedMap<std::vector<int64_t>> by_task;
  for (int64_t episode : episodes) {
    const auto& tasks = metadata.episodes.at(episode).tasks;
    const std::string task = tasks.empty() ? "" : tasks.front();
    const auto* known = by_task.find(task);
    auto members = known ? *known : std::vector<int64_t>{};
    members.push_back(episode);
    by_task.set(task, std::move(members));
  }
  EpisodeSplit split;
  for (const auto& [task, members] : by_task) {
    const auto held_out = static_cast<int64_t>(std::ceil(static_cast<double>(members.size()) * fraction));
    const auto border = members.end() - held_out;
    split.train.insert(split.train.end(), members.begin(), border);
    split.eval.insert(split.eval.end(), border, members.end());
  }
  if (split.train.empty())
    throw UsageError(
        fmt::format("--dataset.eval_split={} leaves 0 of {} episodes to train on", fraction, episodes.size()));
  log::info(fmt::format("Train/eval split: {} train, {} eval (eval_split={}, {} tasks)", split.train.size(),
                        split.eval.size(), fraction, by_task.size()));
  return split;
}

std::vector<int64_t> choose_episodes(const Metadata& metadata, const std::optional<std::vector<int64_t>>& episodes,
                                     const std::vector<int64_t>& excluded) {
  const auto total = std::ssize(metadata.episodes);
  std::vector<int64_t> asked(episodes ? episodes->size() : total);
  if (episodes) {
    asked = *episodes;
  } else {
    std::iota(asked.begin(), asked.end(), 0);
  }
  std::set<int64_t> seen;
  std::vector<int64_t> chosen, outside;
  for (int64_t episode : asked) {
    if (episode < 0)
      throw UsageError(fmt::format("--dataset.episodes holds {}; episodes are numbered from 0", episode));
    if (!seen.insert(episode).second)
      throw UsageError(fmt::format("--dataset.episodes holds {} more than once", episode));
    const bool is_excluded = std::find(excluded.begin(), excluded.end(), episode) != excluded.end();
    if (episode >= total) {
      outside.push_back(episode);
    } else if (!is_excluded) {
      chosen.push_back(episode);
    }
  }
  if (!outside.empty())
    log::warning(fmt::format("--dataset.episodes: ignoring {}, outside the dataset's range [0, {})",
                             fmt::join(outside, ", "), total));
  for (int64_t episode : excluded) {
    if (episode < 0 || episode >= total)
      log::warning(
          fmt::format("--dataset.exclude_episodes: ignoring {}, outside the dataset's range [0, {})", episode, total));
  }
  if (chosen.empty())
    throw UsageError(
        fmt::format("No episode is left to read: the dataset in {} has {}, and --dataset.episodes and "
                    "--dataset.exclude_episodes leave none",
                    metadata.root.string(), total));
  return chosen;
}

}  // namespace lerobot::dataset
