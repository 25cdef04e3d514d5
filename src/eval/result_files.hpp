// episodes.jsonl and eval_info.json in an evaluation's folder.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "lerobot/core/file_system.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/eval/eval_result.hpp"

namespace lerobot::eval {

// Without a folder every call does nothing. Throws FileSystemError.
class ResultFiles {
 public:
  // Makes the folder and begins a new episodes.jsonl in it; an eval_info.json that is there goes.
  ResultFiles(FileSystem& files, std::optional<std::filesystem::path> folder);

  // {"task_group": "pusht", "task_id": 0, "episode": 3, "seed": 1003, "sum_reward": ..., "max_reward": ..., "success":
  // ..., "length": ...}; on disk when it returns.
  void add_episode(const TaskResult& task, int64_t index, const Episode& episode);
  // Replaces eval_info.json in one step.
  void write_info(const Json& info);

 private:
  FileSystem& files_;
  std::optional<std::filesystem::path> folder_;
  std::unique_ptr<WritableFile> episodes_;
};

}  // namespace lerobot::eval
