#include "lerobot/config/checkpoint_layout.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>
#include <utility>

#include "lerobot/core/error.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;

// The entries of a folder; none where it cannot be listed.
std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  const fs::path listed = directory.empty() ? fs::path(".") : directory;
  for (fs::directory_iterator entry(listed, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(directory / entry->path().filename());
  }
  return entries;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// The first word of a small file.
std::string word_in(const fs::path& path) {
  std::string word;
  std::ifstream stream(path);
  stream.width(64);
  stream >> word;
  return word;
}

}  // namespace

std::string step_directory_name(int64_t step, int64_t total_steps) {
  const size_t digits = std::max<size_t>(6, std::to_string(total_steps).size());
  return fmt::format("{:0{}}", step, digits);
}

std::optional<int64_t> step_of(std::string_view directory_name) {
  int64_t step = 0;
  const char* const end = directory_name.data() + directory_name.size();
  const auto [parsed_to, error] = std::from_chars(directory_name.data(), end, step);
  if (error != std::errc() || parsed_to != end || step < 0) return std::nullopt;
  return directory_name.starts_with('-') ? std::nullopt : std::optional(step);
}

bool entry_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

std::vector<fs::path> step_directories(const fs::path& checkpoints) {
  std::vector<std::pair<int64_t, fs::path>> found;
  for (const fs::path& path : entries_of(checkpoints)) {
    const auto step = step_of(path.filename().string());
    if (step && is_folder(path)) found.emplace_back(*step, path);
  }
  std::ranges::sort(found);
  std::vector<fs::path> result;
  for (auto& [step, path] : found) result.push_back(std::move(path));
  return result;
}

std::optional<fs::path> last_target(const fs::path& checkpoints) {
  const fs::path last = checkpoints / kLastLink;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(last, error);
  if (fs::is_symlink(status)) {
    const fs::path target = fs::read_symlink(last, error);
    return error ? std::nullopt : std::optional(checkpoints / target);
  }
  if (!fs::is_regular_file(status)) return std::nullopt;
  const std::string name = word_in(last);
  return step_of(name) ? std::optional(checkpoints / name) : std::nullopt;
}

fs::path follow(const fs::path& path) {
  fs::path result;
  for (const fs::path& part : path) {
    result /= part;
    if (part == kLastLink && !is_folder(result)) result = last_target(result.parent_path()).value_or(result);
    if (!is_there(result)) result = find_set_aside(result).value_or(result);
  }
  return result;
}

fs::path resolve_last(const fs::path& output_dir) {
  const fs::path checkpoints = output_dir / kCheckpointsDirectory;
  const fs::path last = checkpoints / kLastLink;
  const fs::path step = follow(last);
  if (is_folder(step)) return fs::canonical(step);
  if (!is_folder(checkpoints)) {
    throw UsageError(
        fmt::format("{} holds no checkpoints: there is no folder {}", output_dir.string(), checkpoints.string()));
  }
  std::string problem = fmt::format("there is no {}", last.string());
  if (const auto target = last_target(checkpoints)) {
    problem = fmt::format("{} leads to {}, which does not exist", last.string(), target->string());
  } else if (entry_exists(last)) {
    problem = fmt::format("{} is neither a link nor a file with the name of a checkpoint", last.string());
  }
  throw UsageError(fmt::format("{}; name one of the checkpoints in {} instead", problem, checkpoints.string()));
}

std::optional<fs::path> newest_checkpoint(const fs::path& checkpoints) {
  const fs::path last = checkpoints / kLastLink;
  if (entry_exists(last)) {
    const fs::path step = follow(last);
    return is_folder(step) ? std::optional(step) : std::nullopt;
  }
  const std::vector<fs::path> steps = step_directories(checkpoints);
  return steps.empty() ? std::nullopt : std::optional(steps.back());
}

std::string hidden_name(std::string_view name, std::string_view role) {
  return fmt::format(".{}.{}-{}", name, role, ::getpid());
}

std::optional<std::string> visible_name(std::string_view file_name, std::string_view role) {
  const std::string middle = fmt::format(".{}-", role);
  const size_t at = file_name.rfind(middle);
  if (!file_name.starts_with('.') || at == std::string_view::npos || at <= 1) return std::nullopt;
  const std::string_view process = file_name.substr(at + middle.size());
  const std::string_view name = file_name.substr(1, at - 1);
  if (!step_of(process) || (name != kLastLink && !step_of(name))) return std::nullopt;
  return std::string(name);
}

std::optional<fs::path> find_set_aside(const fs::path& target) {
  const std::string name = target.filename().string();
  if (!step_of(name)) return std::nullopt;
  for (const fs::path& entry : entries_of(target.parent_path())) {
    if (visible_name(entry.filename().string(), kSetAside) == name) return entry;
  }
  return std::nullopt;
}

}  // namespace lerobot::checkpoint
