// The test twin must itself be right, or the crash tests prove nothing.
#include "support/fault_injection_file_system.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "lerobot/core/error.hpp"

namespace lerobot::testing_support {
namespace {

namespace fs = std::filesystem;

class FaultInjection : public testing::Test {
 protected:
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
  FaultInjectionFileSystem files_;
};

TEST_F(FaultInjection, FailsOnceAndGoesOn) {
  files_.inject(Fault::kError, 1);
  EXPECT_THROW(files_.write_file(root_ / "a", "1234"), RunError);
  EXPECT_EQ(read(root_ / "a"), "12");
  files_.write_file(root_ / "a", "1234");
  EXPECT_EQ(read(root_ / "a"), "1234");
  EXPECT_EQ(files_.operations(), 6);
}

TEST_F(FaultInjection, NothingChangesAfterACrash) {
  files_.inject(Fault::kCrash, 0);
  EXPECT_THROW(files_.create_directories(root_ / "a"), SimulatedCrash);
  EXPECT_THROW(files_.create_directories(root_ / "b"), SimulatedCrash);
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(FaultInjection, APowerCutTakesUnsyncedBytes) {
  files_.write_file(root_ / "synced", "1234");
  const auto file = files_.append_to(root_ / "synced");
  file->append(std::string_view("5678"));
  files_.create(root_ / "never synced")->append(std::string_view("1234"));
  files_.sync_directory(root_);
  files_.lose_power();
  EXPECT_EQ(read(root_ / "synced"), "1234");
  EXPECT_EQ(read(root_ / "never synced"), "");
}

TEST_F(FaultInjection, APowerCutUndoesEntriesOfUnsyncedDirectories) {
  files_.write_file(root_ / "replaced", "old");
  files_.write_file(root_ / "removed", "x");
  files_.create_symlink("000005", root_ / "last");
  files_.sync_directory(root_);

  files_.write_file(root_ / "new", "new");
  files_.rename(root_ / "new", root_ / "replaced");
  files_.remove_all(root_ / "removed");
  files_.create_symlink("000010", root_ / ".last");
  files_.rename(root_ / ".last", root_ / "last");
  EXPECT_EQ(read(root_ / "replaced"), "new");
  EXPECT_FALSE(fs::exists(root_ / "removed"));

  files_.lose_power();
  EXPECT_EQ(read(root_ / "replaced"), "old");
  EXPECT_EQ(read(root_ / "removed"), "x");
  EXPECT_EQ(fs::read_symlink(root_ / "last"), "000005");
  EXPECT_FALSE(fs::exists(root_ / "new"));
}

TEST_F(FaultInjection, ARenamedDirectoryStillLosesWhatItsOwnSyncMissed) {
  files_.create_directories(root_ / "temp" / "inner");
  files_.write_file(root_ / "temp" / "inner" / "file", "x");
  files_.rename(root_ / "temp", root_ / "target");
  files_.sync_directory(root_);
  files_.lose_power();
  EXPECT_TRUE(fs::is_empty(root_ / "target"));
}

TEST_F(FaultInjection, APowerCutUndoesAnExchange) {
  for (const char* name : {"a", "b"}) {
    files_.create_directories(root_ / name);
    files_.write_file(root_ / name / "file", name);
    files_.sync_directory(root_ / name);
  }
  files_.sync_directory(root_);
  ASSERT_TRUE(files_.exchange(root_ / "a", root_ / "b"));
  EXPECT_EQ(read(root_ / "a" / "file"), "b");
  files_.lose_power();
  EXPECT_EQ(read(root_ / "a" / "file"), "a");
}

TEST_F(FaultInjection, WhatIsSyncedStays) {
  files_.create_directories(root_ / "a");
  files_.write_file(root_ / "a" / "file", "x");
  files_.sync_directory(root_ / "a");
  files_.rename(root_ / "a", root_ / "b");
  files_.sync_directory(root_);
  files_.lose_power();
  EXPECT_EQ(read(root_ / "b" / "file"), "x");
}

}  // namespace
}  // namespace lerobot::testing_support
