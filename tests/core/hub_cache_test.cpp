#include "lerobot/core/hub_cache.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "support/temporary_directory.hpp"

namespace lerobot {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(HubCache, LiesWhereHuggingFaceHubLooks) {
  std::map<std::string, std::string> variables = {{"HOME", "/home/ann"}};
  EXPECT_EQ(hub_cache(environment(variables)), "/home/ann/.cache/huggingface/hub");
  variables["XDG_CACHE_HOME"] = "/xdg";
  EXPECT_EQ(hub_cache(environment(variables)), "/xdg/huggingface/hub");
  variables["HF_HOME"] = "~/hf";
  EXPECT_EQ(hub_cache(environment(variables)), "/home/ann/hf/hub");
  variables["HUGGINGFACE_HUB_CACHE"] = "/old";
  EXPECT_EQ(hub_cache(environment(variables)), "/old");
  variables["HF_HUB_CACHE"] = "/new";
  EXPECT_EQ(hub_cache(environment(variables)), "/new");
}

TEST(HubCache, KnowsARepositoryByItsName) {
  for (const char* name : {"lerobot/act_aloha", "a/b", "ann-2/pick.v1"}) EXPECT_TRUE(is_repo_id(name)) << name;
  for (const char* name : {"act", "/a/b", "a/b/c", "../b", "a/..", "a/b..c", "a--x/b", "-a/b", "a/b-", "a b/c", ""})
    EXPECT_FALSE(is_repo_id(name)) << name;
}

TEST(HubCache, FindsASnapshotByBranchTagOrCommit) {
  const testing_support::TemporaryDirectory directory;
  const auto repository = hub_repository(directory.path(), RepoType::kModel, "ann/pick");
  EXPECT_EQ(repository, directory.path() / "models--ann--pick");
  EXPECT_EQ(hub_repository("x", RepoType::kDataset, "ann/pick"), "x/datasets--ann--pick");
  EXPECT_EQ(hub_snapshot(repository, "main"), std::nullopt);

  std::filesystem::create_directories(repository / "snapshots" / "c0ffee");
  std::filesystem::create_directories(repository / "refs" / "refs" / "pr");
  std::ofstream(repository / "refs" / "main") << "c0ffee";
  std::ofstream(repository / "refs" / "refs" / "pr" / "1") << "c0ffee\n";
  std::ofstream(repository / "refs" / "gone") << "dead";
  for (const char* revision : {"main", "refs/pr/1", "c0ffee"}) {
    EXPECT_EQ(hub_snapshot(repository, revision), repository / "snapshots" / "c0ffee") << revision;
  }
  for (const char* revision : {"gone", "other", ""}) EXPECT_EQ(hub_snapshot(repository, revision), std::nullopt);
}

}  // namespace
}  // namespace lerobot
