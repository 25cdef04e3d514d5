#include "lerobot/checkpoint/housekeeping.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

#include "lerobot/config/checkpoint_layout.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(entry->path());
  }
  if (error) throw FileSystemError(fmt::format("cannot list {}: {}", directory.string(), error.message()), error);
  return entries;
}

// What is removed when its name says so.
constexpr std::pair<std::string_view, std::string_view> kLeftovers[] = {
    {kBeingWritten, "left by a save that did not finish"},
    {kSetAside, "the old one of a checkpoint that has been replaced"},
    {kBeingRemoved, "a checkpoint whose removal did not finish"}};

// Deals with one entry; a sentence when it was a leftover.
std::optional<std::string> clean_up(FileSystem& files, const fs::path& path) {
  const std::string file_name = path.filename().string();
  const fs::path checkpoints = path.parent_path();
  if (const auto name = visible_name(file_name, kSetAside); name && !entry_exists(checkpoints / *name)) {
    files.rename(path, checkpoints / *name);
    return fmt::format("A run died while it replaced the checkpoint {}, which has its name back",
                       (checkpoints / *name).string());
  }
  for (const auto& [role, what] : kLeftovers) {
    if (!visible_name(file_name, role)) continue;
    files.remove_all(path);
    return fmt::format("Removed {}, {}", path.string(), what);
  }
  return std::nullopt;
}

fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path result = fs::weakly_canonical(path, error);
  return error ? path : result;
}

}  // namespace

std::vector<std::string> remove_leftovers(FileSystem& files, const fs::path& output_dir) {
  const fs::path checkpoints = output_dir / kCheckpointsDirectory;
  std::vector<std::string> found;
  std::error_code ignored;
  if (!fs::is_directory(checkpoints, ignored)) return found;
  for (const fs::path& path : entries_of(checkpoints)) {
    if (auto sentence = clean_up(files, path)) found.push_back(std::move(*sentence));
  }
  if (!found.empty()) files.sync_directory(checkpoints);
  return found;
}

void remove_old_checkpoints(FileSystem& files, const fs::path& output_dir, int64_t limit,
                            const fs::path& just_written) {
  const fs::path checkpoints = output_dir / kCheckpointsDirectory;
  std::vector<fs::path> ours = step_directories(checkpoints);  // from the lowest step up
  std::erase_if(ours, [](const fs::path& path) { return fs::is_symlink(path); });
  if (std::ssize(ours) <= limit) return;
  ours.resize(ours.size() - static_cast<size_t>(limit));
  const fs::path last = real_path(last_target(checkpoints).value_or(just_written));
  std::erase_if(ours, [&](const fs::path& path) {
    return real_path(path) == last || real_path(path) == real_path(just_written);
  });

  std::vector<fs::path> hidden;
  for (const fs::path& path : ours) {
    hidden.push_back(checkpoints / hidden_name(path.filename().string(), kBeingRemoved));
    files.rename(path, hidden.back());
  }
  // Only once the proper names are surely gone may the contents go.
  if (!hidden.empty()) files.sync_directory(checkpoints);
  for (const fs::path& path : hidden) files.remove_all(path);
}

}  // namespace lerobot::checkpoint
