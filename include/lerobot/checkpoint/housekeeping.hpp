// What goes from a checkpoints folder: what killed runs left in it, and checkpoints beyond --save_total_limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lerobot/core/file_system.hpp"

namespace lerobot::checkpoint {

// Removes what killed runs left in <output_dir>/checkpoints, of any process: one output_dir has one writer. A
// checkpoint that was set aside and never replaced gets its name back, so a resume reads its checkpoint before this is
// called. Returns a sentence for each thing found; does nothing where there is no checkpoints folder. Throws RunError.
std::vector<std::string> remove_leftovers(FileSystem& files, const std::filesystem::path& output_dir);

// Removes checkpoints until the `limit` (from 1 up) with the highest steps are left, but never the one that `last`
// names nor `just_written`. Only real folders whose names are all digits count. Each first takes a hidden name and is
// removed then, so that a crash leaves no half checkpoint under a proper one. Throws RunError.
void remove_old_checkpoints(FileSystem& files, const std::filesystem::path& output_dir, int64_t limit,
                            const std::filesystem::path& just_written);

}  // namespace lerobot::checkpoint
