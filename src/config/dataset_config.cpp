#include "lerobot/config/dataset_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "lerobot/core/text.hpp"

namespace lerobot {

using config::FieldOptions;

void DatasetConfig::fields(config::Visitor& visit) {
  constexpr FieldOptions kNotYet{.implemented = false};
  visit("repo_id", repo_id, "Name of the dataset, as user/name", {.required = true});
  visit("repo_type", repo_type, "dataset, or bucket (streamed from a storage bucket)", kNotYet);
  visit("root", root, "Folder of the dataset; null: $HF_LEROBOT_HOME/<repo_id> or the Hub cache");
  visit("episodes", episodes, "Train on these episodes only");
  visit("exclude_episodes", exclude_episodes, "Train on all episodes but these", {.newer_than_0_6_1 = true});
  visit("image_transforms", image_transforms, "Augmentation of camera frames");
  visit("revision", revision, "Branch, tag or commit on the Hub");
  visit("use_imagenet_stats", use_imagenet_stats, "Normalise cameras with ImageNet's mean and deviation");
  visit("video_backend", video_backend, "Recorded; frames are always decoded natively");
  visit("return_uint8", return_uint8, "Recorded; training always reads whole bytes and converts on the device");
  visit("depth_output_unit", depth_output_unit, "Unit of depth images: mm or m");
  visit("streaming", streaming, "Read frames from the Hub while training", kNotYet);
  visit("eval_split", eval_split, "Part of each task's episodes kept back for an evaluation loss");
}

void DatasetConfig::validate(config::Problems& problems) const {
  if (repo_type != "dataset" && repo_type != "bucket") {
    problems.add("repo_type", fmt::format("must be dataset or bucket, got '{}'", repo_type));
  } else if (repo_type == "bucket" && !streaming) {
    problems.add("repo_type", "a bucket can only be streamed: it needs --dataset.streaming=true");
  } else if (repo_type == "bucket" && eval_split != 0.0) {
    problems.add("eval_split", "does not go with --dataset.repo_type=bucket");
  }
  if (depth_output_unit != "mm" && depth_output_unit != "m") {
    problems.add("depth_output_unit", fmt::format("must be mm or m, got '{}'", depth_output_unit));
  }
  if (!(eval_split >= 0.0 && eval_split < 1.0)) {
    problems.add("eval_split", fmt::format("must be at least 0 and below 1, got {}", python_float_repr(eval_split)));
  }
  const std::vector<std::string> backends = {"torchcodec", "pyav", "video_reader"};
  if (std::ranges::find(backends, video_backend) == backends.end()) {
    problems.add("video_backend", fmt::format("must be one of {}, got '{}'", join(backends, ", "), video_backend));
  }
  if (!episodes) return;
  std::set<int64_t> seen;
  std::set<int64_t> negative;
  std::set<int64_t> repeated;
  for (const int64_t episode : *episodes) {
    if (episode < 0) negative.insert(episode);
    if (!seen.insert(episode).second) repeated.insert(episode);
  }
  const auto add = [&](const char* message, const std::set<int64_t>& wrong) {
    if (!wrong.empty()) problems.add("episodes", fmt::format("{}: {}", message, fmt::join(wrong, ", ")));
  };
  add("must not be negative", negative);
  add("listed more than once", repeated);
}

void DatasetConfig::resolve(config::Problems& problems) {
  if (!exclude_episodes) return;
  std::vector<int64_t> dropped;
  std::ranges::copy_if(*exclude_episodes, std::back_inserter(dropped), [](int64_t episode) { return episode < 0; });
  if (dropped.empty()) return;
  std::erase_if(*exclude_episodes, [](int64_t episode) { return episode < 0; });
  problems.warn("exclude_episodes",
                fmt::format("no episode has a negative index, ignored {}", fmt::join(dropped, ", ")));
}

}  // namespace lerobot
