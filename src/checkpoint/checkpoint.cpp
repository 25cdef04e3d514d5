#include "lerobot/checkpoint/checkpoint.hpp"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <vector>

#include "hidden_names.hpp"
#include "lerobot/checkpoint/layout.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;

bool entry_exists(const fs::path& path) {
  return fs::exists(fs::symlink_status(path));
}

// Creates `directory` and what is missing above it, safe on disk.
void create_durable_directories(FileSystem& files, const fs::path& directory) {
  std::vector<fs::path> missing;
  for (fs::path path = directory; !path.empty() && !fs::exists(path); path = path.parent_path()) {
    missing.push_back(path);
  }
  if (missing.empty()) return;
  files.create_directories(directory);
  for (const fs::path& path : missing) files.sync_directory(path.parent_path());
}

// Removes what runs that died have left behind; a checkpoint that was set aside and never replaced gets its name back.
void clean_up_after_crashes(FileSystem& files, const fs::path& checkpoints) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(entry->path());
  }
  if (error) throw RunError(fmt::format("cannot list {}: {}", checkpoints.string(), error.message()));
  for (const fs::path& path : entries) {
    const std::string file_name = path.filename().string();
    if (const auto name = visible_name(file_name, kSetAside); name && !entry_exists(checkpoints / *name)) {
      files.rename(path, checkpoints / *name);
    } else if (name || visible_name(file_name, kBeingWritten)) {
      files.remove_all(path);
    }
  }
}

void write_json(FileSystem& files, const fs::path& path, const Json& value) {
  files.write_file(path, to_python_json(value, {.indent = 4, .ensure_ascii = true}));
}

// Everything below a step's folder, safe on disk (but for the folder's own name in its parent).
void write_content(FileSystem& files, const fs::path& directory, const CheckpointContent& content) {
  const fs::path pretrained_model = directory / kPretrainedModelDirectory;
  const fs::path training_state = directory / kTrainingStateDirectory;
  files.create_directories(pretrained_model);
  files.create_directories(training_state);
  write_json(files, pretrained_model / kPolicyConfigFile, content.policy_config);
  save_safetensors(files, pretrained_model / kWeightsFile, content.weights, {{"format", "pt"}});
  write_json(files, pretrained_model / kTrainConfigFile, content.train_config);
  if (content.write_processors) content.write_processors(files, pretrained_model);
  write_training_state(files, training_state, content.training_state);
  files.sync_directory(pretrained_model);
  files.sync_directory(training_state);
  files.sync_directory(directory);
}

// Gives the finished folder its name. From here on the new checkpoint is the one that counts.
void commit(FileSystem& files, const fs::path& finished, const fs::path& target) {
  const fs::path parent = target.parent_path();
  if (!entry_exists(target)) {
    files.rename(finished, target);
    files.sync_directory(parent);
    return;
  }
  if (files.exchange(finished, target)) {
    files.sync_directory(parent);
    files.remove_all(finished);  // the replaced one
    return;
  }
  // Between the two renames nothing has the target's name: resolve_last and the next save know where to look.
  const fs::path set_aside = parent / hidden_name(target.filename().string(), kSetAside);
  files.rename(target, set_aside);
  try {
    files.rename(finished, target);
  } catch (const Error&) {
    files.rename(set_aside, target);
    throw;
  }
  files.sync_directory(parent);
  files.remove_all(set_aside);
}

void point_last_at(FileSystem& files, const fs::path& checkpoints, const std::string& name) {
  const fs::path last = checkpoints / kLastLink;
  if (entry_exists(last) && !fs::is_symlink(last)) {
    throw RunError(fmt::format("{} is not a symbolic link and stays as it is; move it away, the new checkpoint is {}",
                               last.string(), (checkpoints / name).string()));
  }
  const fs::path link = checkpoints / hidden_name(kLastLink, kBeingWritten);
  files.create_symlink(name, link);
  files.rename(link, last);
  files.sync_directory(checkpoints);
}

// After a failed save; the failure that led here is the one to report.
void discard(FileSystem& files, const fs::path& path) {
  try {
    files.remove_all(path);
  } catch (const Error&) {
    // The next save tries again.
  }
}

}  // namespace

fs::path save_checkpoint(FileSystem& files, const fs::path& output_dir, int64_t total_steps,
                         const CheckpointContent& content) {
  const int64_t step = content.training_state.step;
  const std::string name = step_directory_name(step, total_steps);
  const fs::path checkpoints = output_dir / kCheckpointsDirectory;
  const fs::path target = checkpoints / name;
  const fs::path hidden = checkpoints / hidden_name(name, kBeingWritten);
  try {
    create_durable_directories(files, checkpoints);
    clean_up_after_crashes(files, checkpoints);
    write_content(files, hidden, content);
    commit(files, hidden, target);
    point_last_at(files, checkpoints, name);
  } catch (const Error& error) {
    discard(files, hidden);
    discard(files, checkpoints / hidden_name(kLastLink, kBeingWritten));
    if (entry_exists(target)) discard(files, checkpoints / hidden_name(name, kSetAside));
    throw RunError(fmt::format("the checkpoint of step {} could not be saved: {}", step, error.what()));
  }
  return target;
}

TensorMap load_weights(const fs::path& pretrained_model_directory) {
  const fs::path path = pretrained_model_directory / kWeightsFile;
  if (!fs::exists(path)) {
    throw UsageError(fmt::format("{} holds no {}; a checkpoint's pretrained_model folder is needed",
                                 pretrained_model_directory.string(), kWeightsFile));
  }
  const SafetensorsFile file(path);
  TensorMap weights = file.tensors();
  for (const auto& [dropped, kept] : file.metadata()) {
    if (!weights.contains(dropped) && file.contains(kept)) weights[dropped] = weights.at(kept);
  }
  return weights;
}

}  // namespace lerobot::checkpoint
