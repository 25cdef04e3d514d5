#include "result_files.hpp"

#include <utility>

namespace lerobot::eval {

ResultFiles::ResultFiles(FileSystem& files, std::optional<std::filesystem::path> folder)
    : files_(files), folder_(std::move(folder)) {
  if (!folder_) return;
  if (folder_->empty()) folder_ = ".";
  files_.create_directories(*folder_);
  files_.remove_all(*folder_ / "eval_info.json");  // of an evaluation before, which would pass for this one's
  episodes_ = files_.create(*folder_ / "episodes.jsonl");
  files_.sync_directory(*folder_);
}

void ResultFiles::add_episode(const TaskResult& task, int64_t index, const Episode& episode) {
  if (!episodes_) return;
  Json record;
  record["task_group"] = task.group;
  record["task_id"] = task.id;
  record["episode"] = index;
  record["seed"] = episode.seed ? Json(*episode.seed) : Json(nullptr);
  record["sum_reward"] = episode.sum_reward;
  record["max_reward"] = episode.max_reward;
  record["success"] = episode.success;
  record["length"] = episode.length;
  episodes_->append(to_python_json(record, {.indent = -1}) + '\n');
  episodes_->sync();
}

void ResultFiles::write_info(const Json& info) {
  if (!folder_) return;
  const std::filesystem::path partial = *folder_ / ".eval_info.json.partial";
  files_.write_file(partial, to_python_json(info, {.indent = 2}));
  files_.rename(partial, *folder_ / "eval_info.json");
  files_.sync_directory(*folder_);
}

}  // namespace lerobot::eval
