#include "frame_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <system_error>

#include "data_files.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "lerobot/core/text.hpp"
#include "parquet_file.hpp"

namespace lerobot::dataset {
namespace {

constexpr std::array<std::string_view, 5> kStandardColumns = {"timestamp", "frame_index", "episode_index", "index",
                                                              "task_index"};

torch::ScalarType tensor_dtype(const FeatureSpec& feature) {
  if (feature.dtype == "bool") return torch::kBool;
  return feature.dtype.starts_with("float") ? torch::kFloat32 : torch::kInt64;
}

torch::Tensor allocate_column(const Metadata& metadata, const FeatureSpec& feature, const std::vector<int64_t>& shape) {
  try {
    return torch::empty(shape, tensor_dtype(feature));
  } catch (const c10::Error&) {  // more than the machine has, or than 64 bits hold
    throw UsageError(fmt::format("{}: feature `{}`: there is no memory for its values, a tensor of shape [{}]",
                                 metadata.info.file.string(), feature.name, fmt::join(shape, ", ")));
  }
}

void check_columns(const ParquetFile& file, const DatasetInfo& info) {
  for (const std::string& column : file.columns()) {
    const FeatureSpec* feature = info.find(column);
    if (feature == nullptr || feature->is_video())
      throw UsageError(fmt::format("{}: column `{}` is {} in meta/info.json", file.path().string(), column,
                                   feature ? "a video" : "no feature"));
  }
  for (const FeatureSpec& feature : info.features) {
    if (!feature.is_video() && !file.has_column(feature.name))
      throw UsageError(
          fmt::format("{}: column `{}`, a feature of meta/info.json, is missing", file.path().string(), feature.name));
  }
}

[[noreturn]] void fail_incomplete(const Metadata& metadata, const EpisodeRows& episode, int64_t found) {
  const auto file = metadata.data_file(metadata.episodes[episode.episode_index]);
  std::error_code error;
  throw UsageError(
      fmt::format("{}: {} of the {} frames of episode {} are missing{}. Download the dataset again, or "
                  "leave the episode out with --dataset.episodes",
                  file.string(), episode.length - found, episode.length, episode.episode_index,
                  std::filesystem::exists(file, error) ? "" : " (there is no such file)"));
}

// Before memory is taken for as many frames as the episode table lists: the files hold that many rows.
void check_frames_exist(const Metadata& metadata, const std::vector<EpisodeRows>& episodes,
                        const std::vector<std::filesystem::path>& files) {
  int64_t rows = 0;
  for (const auto& path : files) rows += ParquetFile(path).num_rows();
  if (rows >= episodes.back().first_row + episodes.back().length) return;
  std::map<int64_t, int64_t> found;  // rows by episode
  for (const auto& path : files)
    for (const int64_t episode : ParquetFile(path).read_integers("episode_index")) ++found[episode];
  for (const EpisodeRows& episode : episodes)
    if (found[episode.episode_index] < episode.length) fail_incomplete(metadata, episode, found[episode.episode_index]);
}

// Finds for every row on disk its row in the dataset, by episode_index and index.
class RowFinder {
 public:
  RowFinder(const Metadata& metadata, const std::vector<EpisodeRows>& episodes)
      : metadata_(metadata), first_row_(metadata.episodes.size(), -1) {
    for (const EpisodeRows& episode : episodes) first_row_[episode.episode_index] = episode.first_row;
    is_found_.resize(episodes.back().first_row + episodes.back().length, false);
  }

  // -1: a row of an episode that was not chosen.
  std::vector<int64_t> find(const ParquetFile& file) {
    const auto episode = file.read_integers("episode_index");
    const auto index = file.read_integers("index");
    std::vector<int64_t> rows(index.size(), -1);
    for (size_t i = 0; i < index.size(); ++i) {
      if (episode[i] < 0 || episode[i] >= std::ssize(first_row_)) {
        ++unlisted_;
        continue;
      }
      if (first_row_[episode[i]] < 0) continue;
      const Episode& entry = metadata_.episodes[episode[i]];
      const bool is_inside = index[i] >= entry.dataset_from_index && index[i] < entry.dataset_to_index;
      const int64_t row = is_inside ? first_row_[episode[i]] + (index[i] - entry.dataset_from_index) : -1;
      if (!is_inside || is_found_[row])
        throw UsageError(fmt::format(
            "{}: row {} has index {}, {}; episode {} owns {} to {} (exclusive) according to meta/episodes",
            file.path().string(), i, index[i], is_inside ? "which another row has, too" : "outside its episode",
            episode[i], entry.dataset_from_index, entry.dataset_to_index));
      is_found_[row] = true;
      rows[i] = row;
    }
    return rows;
  }

  void check_complete(const std::vector<EpisodeRows>& episodes) const {
    for (const EpisodeRows& episode : episodes) {
      const auto first = is_found_.begin() + episode.first_row;
      const auto found = std::count(first, first + episode.length, true);
      if (found != episode.length) fail_incomplete(metadata_, episode, found);
    }
    if (unlisted_ > 0)
      log::warning(
          fmt::format("{}: {} rows of data/ belong to episodes that meta/episodes does not list; they are not "
                      "used",
                      metadata_.root.string(), unlisted_));
  }

 private:
  const Metadata& metadata_;
  std::vector<int64_t> first_row_;  // by episode; -1: not chosen
  std::vector<bool> is_found_;      // by dataset row
  int64_t unlisted_ = 0;
};

void read_file(const ParquetFile& file, std::span<const int64_t> rows, const std::vector<const FeatureSpec*>& features,
               FrameData& data) {
  int64_t first = 0;
  for (int group = 0; group < file.num_row_groups(); ++group) {
    const auto destinations = rows.subspan(first, file.rows_in(group));
    first += file.rows_in(group);
    if (std::all_of(destinations.begin(), destinations.end(), [](int64_t row) { return row < 0; })) continue;
    for (const FeatureSpec* feature : features) {
      if (feature->is_video()) continue;
      if (feature->is_image()) {
        const int64_t bytes = file.uncompressed_bytes(feature->name, "bytes", group);
        if (__builtin_add_overflow(data.image_bytes, bytes, &data.image_bytes))
          data.image_bytes = std::numeric_limits<int64_t>::max();
        continue;
      }
      torch::Tensor& column = data.columns.at(feature->name);
      file.read_numbers(feature->name, group, {column.scalar_type(), column.data_ptr(), feature->shape, destinations});
    }
    if (data.locations.empty()) continue;
    for (size_t i = 0; i < destinations.size(); ++i) {
      if (destinations[i] >= 0)
        data.locations[destinations[i]] = {static_cast<int32_t>(data.files.size()), group, static_cast<int32_t>(i)};
    }
  }
}

}  // namespace

std::vector<const FeatureSpec*> features_to_load(const DatasetInfo& info, const std::vector<std::string>* names) {
  std::vector<std::string> known;
  for (const FeatureSpec& feature : info.features) known.push_back(feature.name);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (!info.find(name))
      throw UsageError(fmt::format("{}: the dataset has no feature `{}`; it has {}.{}", info.file.string(), name,
                                   join(known, ", "), did_you_mean(name, known)));
  }
  std::vector<const FeatureSpec*> features;
  for (const FeatureSpec& feature : info.features) {
    const bool is_standard =
        std::find(kStandardColumns.begin(), kStandardColumns.end(), feature.name) != kStandardColumns.end();
    const bool is_wanted = names == nullptr || std::find(names->begin(), names->end(), feature.name) != names->end();
    if ((is_standard || is_wanted) && (feature.is_numeric() || feature.is_camera())) features.push_back(&feature);
  }
  return features;
}

FrameData load_frame_data(const Metadata& metadata, const std::vector<EpisodeRows>& episodes,
                          const std::vector<const FeatureSpec*>& features) {
  const int64_t frames = episodes.back().first_row + episodes.back().length;
  const auto files = parquet_files(metadata.root / "data");
  check_frames_exist(metadata, episodes, files);
  FrameData data;
  for (const FeatureSpec* feature : features) {
    if (feature->is_image()) data.locations.resize(frames);
    if (feature->is_camera()) continue;
    std::vector<int64_t> shape{frames};
    if (!feature->is_scalar()) shape.insert(shape.end(), feature->shape.begin(), feature->shape.end());
    data.columns[feature->name] = allocate_column(metadata, *feature, shape);
  }
  RowFinder finder(metadata, episodes);
  for (const auto& path : files) {
    const ParquetFile file(path);
    check_columns(file, metadata.info);
    read_file(file, finder.find(file), features, data);
    data.files.push_back(path);
  }
  finder.check_complete(episodes);
  return data;
}

}  // namespace lerobot::dataset
