// Everything under meta/: info, the episode table, the task sentences, the statistics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lerobot/dataset/dataset_info.hpp"
#include "lerobot/dataset/dataset_root.hpp"
#include "lerobot/dataset/stats.hpp"

namespace lerobot::dataset {

// Where the frames of one episode and one camera lie: seconds [from, to) of one mp4.
struct VideoSegment {
  int64_t chunk_index = 0;
  int64_t file_index = 0;
  double from_timestamp = 0;
  double to_timestamp = 0;
};

struct Episode {
  int64_t length = 0;
  int64_t dataset_from_index = 0;  // global frame range, `to` exclusive; to - from == length
  int64_t dataset_to_index = 0;
  int64_t data_chunk_index = 0;
  int64_t data_file_index = 0;
  std::vector<std::string> tasks;              // the distinct sentences of its frames
  std::map<std::string, VideoSegment> videos;  // by camera, one for each video feature
};

struct Metadata {
  std::filesystem::path root;
  std::string repo_id;
  DatasetInfo info;
  std::vector<Episode> episodes;         // row i is episode i
  std::map<int64_t, std::string> tasks;  // task_index -> sentence
  std::optional<FeatureStats> stats;     // nullopt: no meta/stats.json
  std::string depth_output_unit = "mm";  // of depth images and their statistics as they are read, "m" or "mm"

  std::filesystem::path data_file(const Episode& episode) const;
  std::filesystem::path video_file(const Episode& episode, const std::string& camera) const;
};

// Reads and checks all of meta/. Columns stats/* of the episode table are not read.
// Throws UsageError naming the file when one is missing, cut short, or contradicts itself: row i that is not episode i,
// a range that does not match its length, nulls, a video feature without its columns. Warns about total_* that disagree
// with the tables, task rows out of order and video segments of another length than their rows. Statistics of depth
// maps are converted to `depth_output_unit` (--dataset.depth_output_unit) from the recorded unit.
Metadata load_metadata(const std::filesystem::path& root, const std::string& repo_id,
                       const std::string& depth_output_unit = "mm");
// find_dataset_root, then the above.
Metadata load_metadata(const DatasetLocation& location, const std::string& depth_output_unit = "mm");

// The statistics, or a UsageError that says how to compute them: normalisation needs them.
const FeatureStats& required_stats(const Metadata& metadata);

// use_imagenet_stats: mean and std of every camera that is not a depth map become ImageNet's, [3, 1, 1]; the other
// statistics stay the dataset's.
void apply_imagenet_stats(FeatureStats& stats, const DatasetInfo& info);

// Warns about cameras whose standard deviation is too small (< 0.02 of full scale) to be that of pictures: early v3.0
// recorders computed it in uint8. To be called when use_imagenet_stats is off.
void warn_about_camera_stats(const FeatureStats& stats, const DatasetInfo& info);

// --dataset.eval_split: of each task (first sentence of an episode) the last ceil(n * fraction) episodes, in the order
// given, are held out. Throws UsageError when nothing is left to train on.
struct EpisodeSplit {
  std::vector<int64_t> train;
  std::vector<int64_t> eval;
};
EpisodeSplit split_episodes(const Metadata& metadata, const std::vector<int64_t>& episodes, double fraction);

// The episodes to read: all, or `episodes` (--dataset.episodes, in their order), without `excluded`
// (--dataset.exclude_episodes). Throws UsageError for a negative or repeated entry and when none is left; those outside
// the dataset are dropped with a warning.
std::vector<int64_t> choose_episodes(const Metadata& metadata, const std::optional<std::vector<int64_t>>& episodes,
                                     const std::vector<int64_t>& excluded = {});

}  // namespace lerobot::dataset
