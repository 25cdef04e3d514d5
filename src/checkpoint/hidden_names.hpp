// Names of what stands in the checkpoints folder only while a save is under way.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lerobot::checkpoint {

inline constexpr std::string_view kBeingWritten = "tmp";  // the new checkpoint, or the one it has been exchanged with
inline constexpr std::string_view kSetAside = "old";      // the replaced one, where there is no atomic exchange

// ".000010.tmp-<pid>" of this process.
std::string hidden_name(std::string_view name, std::string_view role);

// The name inside, when `file_name` is a hidden name of that role, of any process.
std::optional<std::string> visible_name(std::string_view file_name, std::string_view role);

// A checkpoint that was set aside while `target`, which is gone, was to be replaced.
std::optional<std::filesystem::path> find_set_aside(const std::filesystem::path& target);

}  // namespace lerobot::checkpoint
