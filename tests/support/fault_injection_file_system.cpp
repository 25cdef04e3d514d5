#include "support/fault_injection_file_system.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "lerobot/core/error.hpp"

namespace lerobot::testing_support {
namespace {

namespace fs = std::filesystem;

bool entry_exists(const fs::path& path) {
  return fs::exists(fs::symlink_status(path));
}

// `path` with the leading `from` replaced by `to`, if it leads.
std::optional<fs::path> rebased(const fs::path& path, const fs::path& from, const fs::path& to) {
  const auto [end, unused] = std::mismatch(from.begin(), from.end(), path.begin(), path.end());
  if (end != from.end()) return std::nullopt;
  const fs::path rest = path.lexically_relative(from);
  return rest == "." ? to : to / rest;
}

}  // namespace

class FaultInjectionFileSystem::File final : public WritableFile {
 public:
  File(FaultInjectionFileSystem& files, fs::path path, std::unique_ptr<WritableFile> real)
      : files_(files), path_(std::move(path)), real_(std::move(real)) {}

  using WritableFile::append;
  void append(std::span<const std::byte> bytes) override {
    {
      const Lock lock(files_.mutex_);
      files_.unsynced_files_.try_emplace(path_, fs::file_size(path_));
      if (!files_.crashed_ && files_.operations_ == files_.fault_operation_) {
        real_->append(bytes.first(bytes.size() / 2));
      }
    }
    const Lock lock = files_.operation();
    real_->append(bytes);
  }
  void sync() override {
    const Lock lock = files_.operation();
    files_.unsynced_files_.erase(path_);
  }
  void close() override {
    const Lock lock = files_.operation();
    real_->close();
  }

 private:
  FaultInjectionFileSystem& files_;
  fs::path path_;
  std::unique_ptr<WritableFile> real_;
};

void FaultInjectionFileSystem::inject(Fault fault, int64_t operation, std::errc reason) {
  fault_ = fault;
  fault_operation_ = operation;
  fault_reason_ = reason;
}

int64_t FaultInjectionFileSystem::operations() const {
  const Lock lock(mutex_);
  return operations_;
}

FaultInjectionFileSystem::Lock FaultInjectionFileSystem::operation() {
  if (hook_) hook_(operations());
  Lock lock(mutex_);
  if (crashed_) throw SimulatedCrash{};
  if (operations_++ != fault_operation_) return lock;
  if (fault_ == Fault::kError) {
    const std::error_code code = std::make_error_code(fault_reason_);
    throw FileSystemError("injected fault: " + code.message(), code);
  }
  crashed_ = true;
  throw SimulatedCrash{};
}

std::unique_ptr<WritableFile> FaultInjectionFileSystem::create(const fs::path& path) {
  const Lock lock = operation();
  if (!entry_exists(path)) unsynced_changes_.push_back({Change::Kind::kCreated, path});
  auto file = real_.create(path);
  unsynced_files_[path] = 0;
  return std::make_unique<File>(*this, path, std::move(file));
}

std::unique_ptr<WritableFile> FaultInjectionFileSystem::append_to(const fs::path& path) {
  const Lock lock = operation();
  if (!entry_exists(path)) unsynced_changes_.push_back({Change::Kind::kCreated, path});
  return std::make_unique<File>(*this, path, real_.append_to(path));
}

void FaultInjectionFileSystem::create_directories(const fs::path& path) {
  const Lock lock = operation();
  fs::path ancestor;
  for (const fs::path& part : path) {
    ancestor /= part;
    if (!entry_exists(ancestor)) unsynced_changes_.push_back({Change::Kind::kCreated, ancestor});
  }
  real_.create_directories(path);
}

void FaultInjectionFileSystem::rename(const fs::path& from, const fs::path& to) {
  const Lock lock = operation();
  const bool onto_full_directory = fs::is_directory(fs::symlink_status(to)) && !fs::is_empty(to);
  if (!entry_exists(from) || onto_full_directory) return real_.rename(from, to);  // for its error
  const fs::path replaced = keep(to);
  real_.rename(from, to);
  moved(from, to);
  unsynced_changes_.push_back({Change::Kind::kRenamed, to, from, replaced});
}

bool FaultInjectionFileSystem::exchange(const fs::path& a, const fs::path& b) {
  const Lock lock = operation();
  if (!exchange_allowed_ || !real_.exchange(a, b)) return false;
  const fs::path between = kept_.path() / "between";
  moved(a, between);
  moved(b, a);
  moved(between, b);
  unsynced_changes_.push_back({Change::Kind::kExchanged, a, b});
  return true;
}

bool FaultInjectionFileSystem::create_symlink(const fs::path& target, const fs::path& link) {
  const Lock lock = operation();
  if (!symlinks_allowed_ || !real_.create_symlink(target, link)) return false;
  unsynced_changes_.push_back({Change::Kind::kCreated, link});
  return true;
}

void FaultInjectionFileSystem::remove_all(const fs::path& path) {
  const Lock lock = operation();
  const fs::path removed = keep(path);
  if (!removed.empty()) unsynced_changes_.push_back({Change::Kind::kRemoved, path, {}, removed});
}

void FaultInjectionFileSystem::sync_directory(const fs::path& path) {
  const Lock lock = operation();
  std::erase_if(unsynced_changes_, [&](const Change& change) { return change.path.parent_path() == path; });
}

fs::path FaultInjectionFileSystem::keep(const fs::path& path) {
  if (!entry_exists(path)) return {};
  const fs::path kept = kept_.path() / std::to_string(kept_count_++);
  fs::rename(path, kept);
  moved(path, kept);
  return kept;
}

void FaultInjectionFileSystem::moved(const fs::path& from, const fs::path& to) {
  std::map<fs::path, std::uintmax_t> files;
  for (const auto& [path, size] : unsynced_files_) files[rebased(path, from, to).value_or(path)] = size;
  unsynced_files_ = std::move(files);
  for (Change& change : unsynced_changes_) {
    // The entry itself belongs to its parent directory, which did not move.
    for (fs::path* path : {&change.path, &change.other}) {
      if (*path != from) *path = rebased(*path, from, to).value_or(*path);
    }
  }
}

void FaultInjectionFileSystem::lose_power() {
  for (const auto& [path, safe_bytes] : unsynced_files_) {
    if (entry_exists(path)) fs::resize_file(path, safe_bytes);
  }
  unsynced_files_.clear();
  while (!unsynced_changes_.empty()) {
    const Change change = std::move(unsynced_changes_.back());
    unsynced_changes_.pop_back();
    undo(change);
  }
}

void FaultInjectionFileSystem::undo(const Change& change) {
  switch (change.kind) {
    case Change::Kind::kCreated:
      fs::remove_all(change.path);
      break;
    case Change::Kind::kRenamed:
      fs::rename(change.path, change.other);
      moved(change.path, change.other);
      if (!change.replaced.empty()) {
        fs::rename(change.replaced, change.path);
        moved(change.replaced, change.path);
      }
      break;
    case Change::Kind::kExchanged:
      real_.exchange(change.path, change.other);
      break;
    case Change::Kind::kRemoved:
      fs::rename(change.replaced, change.path);
      moved(change.replaced, change.path);
      break;
  }
}

}  // namespace lerobot::testing_support
