#include "lerobot/checkpoint/checkpoint.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "finite.hpp"
#include "lerobot/checkpoint/housekeeping.hpp"
#include "lerobot/config/checkpoint_layout.hpp"
#include "lerobot/core/describe_exception.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;

void refuse_broken(const char* directory, const TensorMap& weights) {
  const auto name = first_non_finite(weights);
  if (!name) return;
  throw RunError(
      fmt::format("the weight {} of {}/{} holds NaN or infinity. A broken model is not stored, the checkpoint before "
                  "stays: go on from it with a lower learning rate or another precision",
                  *name, directory, kWeightsFile));
}

void write_json(FileSystem& files, const fs::path& path, const Json& value) {
  files.write_file(path, to_python_json(value, {.indent = 4, .ensure_ascii = true}));
}

// A folder that --policy.path can name.
void write_model(FileSystem& files, const fs::path& directory, const CheckpointContent& content,
                 const TensorMap& weights) {
  files.create_directories(directory);
  write_json(files, directory / kPolicyConfigFile, content.policy_config);
  save_safetensors(files, directory / kWeightsFile, weights, {{"format", "pt"}});
  write_json(files, directory / kTrainConfigFile, content.train_config);
  if (content.write_processors) content.write_processors(files, directory);
  files.sync_directory(directory);
}

// Everything below a step's folder, safe on disk (but for the folder's own name in its parent).
void write_content(FileSystem& files, const fs::path& directory, const CheckpointContent& content) {
  const fs::path training_state = directory / kTrainingStateDirectory;
  write_model(files, directory / kPretrainedModelDirectory, content, content.weights);
  if (content.ema) write_model(files, directory / kAveragedModelDirectory, content, content.ema->weights);
  files.create_directories(training_state);
  write_training_state(files, training_state, content.training_state);
  files.sync_directory(training_state);
  files.sync_directory(directory);
}

// Gives the finished folder its name. From here on the new checkpoint is the one that counts. Returns where the one
// that it replaced stands now, if there was one.
std::optional<fs::path> commit(FileSystem& files, const fs::path& finished, const fs::path& target) {
  const fs::path parent = target.parent_path();
  if (!entry_exists(target)) {
    files.rename(finished, target);
    files.sync_directory(parent);
    return std::nullopt;
  }
  if (files.exchange(finished, target)) {
    files.sync_directory(parent);
    return finished;
  }
  // Between the two renames nothing has the target's name: resolve_last and the next save know where to look.
  const fs::path set_aside = parent / hidden_name(target.filename().string(), kSetAside);
  files.rename(target, set_aside);
  try {
    files.rename(finished, target);
  } catch (const std::exception&) {
    files.rename(set_aside, target);
    throw;
  }
  files.sync_directory(parent);
  return set_aside;
}

// The new checkpoint stands, whatever becomes of the old one.
void remove_replaced(FileSystem& files, const fs::path& replaced) {
  try {
    files.remove_all(replaced);
  } catch (const FileSystemError& error) {
    log::warning(
        fmt::format("What a new checkpoint has replaced is left over: {}. The next save tries again", error.what()));
  }
}

void point_last_at(FileSystem& files, const fs::path& checkpoints, const std::string& name) {
  const fs::path last = checkpoints / kLastLink;
  const bool is_link = fs::is_symlink(last);
  if (entry_exists(last) && !is_link && !last_target(checkpoints)) {
    throw RunError(
        fmt::format("{} is neither a symbolic link nor a file with the name of a checkpoint and stays as it "
                    "is; move it away, the new checkpoint is {}",
                    last.string(), (checkpoints / name).string()));
  }
  const fs::path hidden = checkpoints / hidden_name(kLastLink, kBeingWritten);
  if (!files.create_symlink(name, hidden)) {
    if (is_link || !entry_exists(last)) {
      log::info(
          fmt::format("{} cannot be a symbolic link on this file system: it is a file that holds the name of the "
                      "newest checkpoint. --config_path={} works all the same, LeRobot needs the folder itself",
                      last.string(), last.string()));
    }
    files.write_file(hidden, name + "\n");
  }
  files.rename(hidden, last);
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

std::string way_out(const std::error_code& code) {
  if (code == std::errc::no_space_on_device || code.value() == EDQUOT) {
    return ". Make room, or keep fewer checkpoints with --save_total_limit";
  }
  if (code == std::errc::read_only_file_system || code == std::errc::permission_denied ||
      code == std::errc::operation_not_permitted) {
    return ". Make it writable, or choose another folder with --output_dir";
  }
  return "";
}

}  // namespace

fs::path save_checkpoint(FileSystem& files, const fs::path& output_dir, int64_t total_steps,
                         const CheckpointContent& content) {
  const int64_t step = content.training_state.step;
  const std::string name = step_directory_name(step, total_steps);
  const fs::path checkpoints = output_dir / kCheckpointsDirectory;
  const fs::path target = checkpoints / name;
  const fs::path hidden = checkpoints / hidden_name(name, kBeingWritten);
  const auto fail = [&](const std::string& reason) {
    discard(files, hidden);
    discard(files, checkpoints / hidden_name(kLastLink, kBeingWritten));
    if (entry_exists(target)) discard(files, checkpoints / hidden_name(name, kSetAside));
    return RunError(fmt::format("the checkpoint of step {} could not be saved: {}", step, reason));
  };
  try {
    refuse_broken(kPretrainedModelDirectory, content.weights);
    if (content.ema) refuse_broken(kAveragedModelDirectory, content.ema->weights);
    files.create_durable_directories(checkpoints);
    remove_leftovers(files, output_dir);
    write_content(files, hidden, content);
    const std::optional<fs::path> replaced = commit(files, hidden, target);
    point_last_at(files, checkpoints, name);
    if (replaced) remove_replaced(files, *replaced);
  } catch (const FileSystemError& error) {
    throw fail(error.what() + way_out(error.code()));
  } catch (const std::exception&) {
    throw fail(describe(std::current_exception()));
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
