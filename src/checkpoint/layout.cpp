#include "lerobot/checkpoint/layout.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "hidden_names.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::checkpoint {
namespace fs = std::filesystem;

std::string step_directory_name(int64_t step, int64_t total_steps) {
  const size_t digits = std::max<size_t>(6, std::to_string(total_steps).size());
  return fmt::format("{:0{}}", step, digits);
}

fs::path step_directory_of(const fs::path& config_path) {
  fs::path path = config_path.filename().empty() ? config_path.parent_path() : config_path;  // "pretrained_model/"
  if (!fs::is_directory(path)) path = path.parent_path();
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(path.empty() ? ".." : ".") : parent;
}

fs::path resolve_last(const fs::path& output_dir) {
  const fs::path checkpoints = output_dir / kCheckpointsDirectory;
  const fs::path last = checkpoints / kLastLink;
  if (fs::is_directory(last)) return fs::canonical(last);
  if (!fs::is_directory(checkpoints)) {
    throw UsageError(
        fmt::format("{} holds no checkpoints: there is no folder {}", output_dir.string(), checkpoints.string()));
  }
  if (!fs::is_symlink(last)) {
    throw UsageError(
        fmt::format("there is no {}; name one of the checkpoints in {} instead", last.string(), checkpoints.string()));
  }
  const fs::path target = checkpoints / fs::read_symlink(last);
  if (const auto set_aside = find_set_aside(target)) return fs::canonical(*set_aside);
  throw UsageError(fmt::format("{} leads to {}, which does not exist; name one of the checkpoints in {} instead",
                               last.string(), target.string(), checkpoints.string()));
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
  constexpr std::string_view kDigits = "0123456789";
  if (process.empty() || process.find_first_not_of(kDigits) != std::string_view::npos) return std::nullopt;
  if (name != kLastLink && name.find_first_not_of(kDigits) != std::string_view::npos) return std::nullopt;
  return std::string(name);
}

std::optional<fs::path> find_set_aside(const fs::path& target) {
  for (const fs::directory_entry& entry : fs::directory_iterator(target.parent_path())) {
    if (visible_name(entry.path().filename().string(), kSetAside) == target.filename().string()) return entry.path();
  }
  return std::nullopt;
}

}  // namespace lerobot::checkpoint
