// Where checkpoints stand in a run's folder: names and paths alone. Source: LeRobot's common/train_utils.py.
// docs/checkpoint_format.md describes the files and how they get there.
//   <output_dir>/checkpoints/000010/pretrained_model/      config.json, model.safetensors, train_config.json, ...
//                                   pretrained_model_ema/  the same with the averaged weights, when there are any
//                                   training_state/        training_step.json, rng_state.safetensors, ...
//   <output_dir>/checkpoints/last -> 000010                (a file that holds "000010" where links cannot be made)
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lerobot::checkpoint {

inline constexpr const char* kCheckpointsDirectory = "checkpoints";
inline constexpr const char* kLastLink = "last";
inline constexpr const char* kPretrainedModelDirectory = "pretrained_model";
inline constexpr const char* kAveragedModelDirectory = "pretrained_model_ema";
inline constexpr const char* kTrainingStateDirectory = "training_state";
inline constexpr const char* kPolicyConfigFile = "config.json";
inline constexpr const char* kTrainConfigFile = "train_config.json";
inline constexpr const char* kWeightsFile = "model.safetensors";

// The step, padded with zeros to six digits, or to as many as `total_steps` has: "000010".
std::string step_directory_name(int64_t step, int64_t total_steps);

// The step in such a name; nothing when it is another one.
std::optional<int64_t> step_of(std::string_view directory_name);

// What stands at the path itself, a link that leads nowhere included.
bool entry_exists(const std::filesystem::path& path);

// The checkpoints with a step's name, real folders and links to some, from the lowest step up. Nothing hidden.
std::vector<std::filesystem::path> step_directories(const std::filesystem::path& checkpoints);

// What `last` names, there or not. Nothing when there is no `last` or when it is neither a link nor a file of ours.
std::optional<std::filesystem::path> last_target(const std::filesystem::path& checkpoints);

// `path`, led on where the system's own look-up ends: through a `last` that is a file, and to a checkpoint that was set
// aside by a run that died while it replaced it. Any other path comes back as it is.
std::filesystem::path follow(const std::filesystem::path& path);

// The checkpoint that <output_dir>/checkpoints/last leads to, links resolved. Throws UsageError that names what is
// missing.
std::filesystem::path resolve_last(const std::filesystem::path& output_dir);

// The one to go on from in a checkpoints folder: that of `last`, or without a `last` (a folder from the Hub) the
// highest step. Nothing when there is none, or when `last` leads nowhere. `last` stays in the path.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& checkpoints);

// ---- names that stand in the checkpoints folder only while a save is under way: ".000010.tmp-<pid>"

inline constexpr std::string_view kBeingWritten = "tmp";  // the new checkpoint, or the one it has been exchanged with
inline constexpr std::string_view kSetAside = "old";      // the replaced one, where there is no atomic exchange
inline constexpr std::string_view kBeingRemoved = "gone";

// That of this process.
std::string hidden_name(std::string_view name, std::string_view role);

// The name inside, when `file_name` is a hidden name of that role, of any process.
std::optional<std::string> visible_name(std::string_view file_name, std::string_view role);

// A checkpoint that was set aside while `target`, which is gone, was to be replaced.
std::optional<std::filesystem::path> find_set_aside(const std::filesystem::path& target);

}  // namespace lerobot::checkpoint
