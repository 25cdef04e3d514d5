#include "lerobot/dataset/dataset_root.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "lerobot/core/error.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::dataset {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class DatasetRoot : public testing::Test {
 protected:
  std::filesystem::path make_dataset(const std::string& folder) {
    const auto root = directory_.path() / folder;
    std::filesystem::create_directories(root / "meta");
    std::ofstream(root / "meta" / "info.json") << "{}";
    return root;
  }

  void make_ref(const std::string& revision, const std::string& sha) {
    const auto refs = directory_.path() / "home/hub/datasets--ann--pick/refs";
    std::filesystem::create_directories(refs);
    std::ofstream(refs / revision) << sha;
  }

  std::filesystem::path find(std::optional<std::filesystem::path> root = {}, std::optional<std::string> revision = {}) {
    return find_dataset_root({"ann/pick", root, revision}, [this](std::string_view name) -> std::optional<std::string> {
      const auto found = variables_.find(std::string(name));
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  testing_support::TemporaryDirectory directory_;
  std::map<std::string, std::string> variables_{{"HF_LEROBOT_HOME", (directory_.path() / "home").string()}};
  const std::string snapshots_ = "home/hub/datasets--ann--pick/snapshots/";
};

TEST_F(DatasetRoot, TakesExactlyTheGivenFolder) {
  make_dataset("home/ann/pick");
  const auto root = make_dataset("elsewhere");
  EXPECT_EQ(find(root), root);
}

TEST_F(DatasetRoot, RefusesAGivenFolderWithoutMetadata) {
  make_dataset("home/ann/pick");
  EXPECT_THAT([&] { find(directory_.path() / "empty"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("--dataset.root="), HasSubstr("hf download ann/pick"))));
}

TEST_F(DatasetRoot, LooksIntoTheHomesInLeRobotsOrder) {
  const auto in_hf_home = make_dataset("hf/lerobot/ann/pick");
  const auto in_xdg = make_dataset("xdg/huggingface/lerobot/ann/pick");
  const auto in_user_home = make_dataset("user/.cache/huggingface/lerobot/ann/pick");
  const auto place = [&](const char* folder) { return (directory_.path() / folder).string(); };
  variables_ = {{"HOME", place("user")}};
  EXPECT_EQ(find(), in_user_home);
  variables_["XDG_CACHE_HOME"] = place("xdg");
  EXPECT_EQ(find(), in_xdg);
  variables_["HF_HOME"] = place("hf");
  EXPECT_EQ(find(), in_hf_home);
  variables_["HF_LEROBOT_HOME"] = place("home");
  EXPECT_EQ(find(), make_dataset("home/ann/pick"));
}

TEST_F(DatasetRoot, ResolvesTheDefaultRevisionInTheHubCacheWithoutTheNetwork) {
  make_ref("main", "aaa");
  EXPECT_EQ((make_dataset(snapshots_ + "aaa"), find()), directory_.path() / (snapshots_ + "aaa"));
  make_ref("v3.2", "bbb");
  EXPECT_EQ((make_dataset(snapshots_ + "bbb"), find()), directory_.path() / (snapshots_ + "bbb"));
  make_ref("v3.0", "ccc");
  EXPECT_EQ((make_dataset(snapshots_ + "ccc"), find()), directory_.path() / (snapshots_ + "ccc"));
}

TEST_F(DatasetRoot, ResolvesANamedRevisionAndAShaInTheHubCache) {
  make_ref("v3.0", "aaa");
  make_ref("mine", "bbb");
  make_dataset(snapshots_ + "aaa");
  const auto mine = make_dataset(snapshots_ + "bbb");
  EXPECT_EQ(find({}, "mine"), mine);
  EXPECT_EQ(find({}, "bbb"), mine);
}

TEST_F(DatasetRoot, PrefersTheHubCacheToADownloadMirror) {
  const auto mirror = make_dataset("home/ann/pick");
  std::filesystem::create_directories(mirror / ".cache/huggingface/download");
  EXPECT_EQ(find(), mirror);
  make_ref("v3.0", "aaa");
  const auto snapshot = make_dataset(snapshots_ + "aaa");
  EXPECT_EQ(find(), snapshot);
}

TEST_F(DatasetRoot, SaysHowToDownloadWhatIsNotThere) {
  EXPECT_THAT([&] { find(); }, ThrowsMessage<UsageError>(AllOf(
                                   HasSubstr("hf download ann/pick --repo-type dataset --revision v3.0 --local-dir"),
                                   HasSubstr("--dataset.root="))));
}

TEST_F(DatasetRoot, RefusesTheFormerHomeVariable) {
  make_dataset("home/ann/pick");
  variables_["LEROBOT_HOME"] = "/somewhere";
  EXPECT_THAT([&] { find(); }, ThrowsMessage<UsageError>(HasSubstr("HF_LEROBOT_HOME")));
}

}  // namespace
}  // namespace lerobot::dataset
