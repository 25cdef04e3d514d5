#include "lerobot/dataset/dataset_root.hpp"

#include <fmt/format.h>

#include <regex>
#include <vector>

#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace fs = std::filesystem;
namespace {

bool has_metadata(const fs::path& root) {
  std::error_code error;
  return fs::is_regular_file(root / "meta" / "info.json", error);
}

fs::path lerobot_home(const Environment& environment) {
  if (const auto home = environment("HF_LEROBOT_HOME")) return *home;
  return huggingface_home(environment) / "lerobot";
}

// refs/v3.0, the highest refs/v3.x, refs/main: what stands for LeRobot's default revision.
std::vector<std::string> default_revisions(const fs::path& refs) {
  static const std::regex version(R"(v?3\.(\d+)(\.\d+)*)");
  std::string highest;
  int highest_minor = -1;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(refs, error)) {
    const std::string name = entry.path().filename().string();
    std::smatch match;
    if (std::regex_match(name, match, version) && std::stoi(match[1].str()) > highest_minor) {
      highest = name;
      highest_minor = std::stoi(match[1].str());
    }
  }
  std::vector<std::string> revisions{"v3.0"};
  if (!highest.empty()) revisions.push_back(highest);
  revisions.push_back("main");
  return revisions;
}

std::optional<fs::path> find_snapshot(const fs::path& repository, const std::optional<std::string>& revision) {
  const auto revisions = revision ? std::vector{*revision} : default_revisions(repository / "refs");
  for (const std::string& name : revisions) {
    if (const auto root = hub_snapshot(repository, name); root && has_metadata(*root)) return root;
  }
  return std::nullopt;
}

std::string how_to_download(const DatasetLocation& location, const fs::path& directory) {
  return fmt::format("  hf download {} --repo-type dataset --revision {} --local-dir {}", location.repo_id,
                     location.revision.value_or("v3.0"), directory.string());
}

}  // namespace

fs::path find_dataset_root(const DatasetLocation& location, const Environment& environment) {
  if (environment("LEROBOT_HOME"))
    throw UsageError(
        "The environment variable LEROBOT_HOME is set, which LeRobot no longer uses: unset it, and set "
        "HF_LEROBOT_HOME instead if datasets do not lie in the default place");
  if (location.root) {
    if (has_metadata(*location.root)) return *location.root;
    std::error_code error;
    if (!fs::exists(*location.root / "meta" / "info.json", error) && error) {
      throw UsageError(
          fmt::format("--dataset.root={}: cannot be looked into: {}", location.root->string(), error.message()));
    }
    throw UsageError(
        fmt::format("--dataset.root={}: there is no meta/info.json, so this is not a LeRobotDataset. Give "
                    "the folder that holds meta/, data/ and videos/, or download the dataset into it:\n{}",
                    location.root->string(), how_to_download(location, *location.root)));
  }
  const fs::path home = lerobot_home(environment);
  const fs::path local = home / location.repo_id;
  const bool is_mirror = fs::exists(local / ".cache" / "huggingface" / "download");
  if (!is_mirror && has_metadata(local)) return local;

  const fs::path repository = hub_repository(home / "hub", RepoType::kDataset, location.repo_id);
  if (const auto snapshot = find_snapshot(repository, location.revision)) return *snapshot;
  if (has_metadata(local)) return local;

  const fs::path target = fs::path("data") / fs::path(location.repo_id).filename();
  throw UsageError(fmt::format(
      "--dataset.repo_id={}: the dataset is not on this machine. Looked in {} and {}. Download it and say where it "
      "is:\n"
      "{}\n  --dataset.root={}",
      location.repo_id, local.string(), repository.string(), how_to_download(location, target), target.string()));
}

}  // namespace lerobot::dataset
