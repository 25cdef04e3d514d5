#include "lerobot/core/directory_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "lerobot/core/file_system.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot {
namespace {

using testing_support::TemporaryDirectory;

// What another process gets: 0 the lock, 1 nothing.
int acquire_elsewhere(const std::filesystem::path& directory) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(DirectoryLock::acquire(directory) ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DirectoryLock, KeepsOthersOutWhileItLives) {
  const TemporaryDirectory directory;
  std::optional<DirectoryLock> lock = DirectoryLock::acquire(directory.path());
  ASSERT_TRUE(lock);
  EXPECT_EQ(acquire_elsewhere(directory.path()), 1);
  EXPECT_FALSE(DirectoryLock::acquire(directory.path()));
  DirectoryLock moved = *std::move(lock);
  lock.reset();
  EXPECT_EQ(acquire_elsewhere(directory.path()), 1);
}

TEST(DirectoryLock, IsFreeAfterwardsAndLeavesNothing) {
  const TemporaryDirectory directory;
  { const auto lock = DirectoryLock::acquire(directory.path()); }
  EXPECT_EQ(acquire_elsewhere(directory.path()), 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(DirectoryLock, NeedsADirectory) {
  const TemporaryDirectory directory;
  EXPECT_THROW(DirectoryLock::acquire(directory.path() / "missing"), FileSystemError);
}

}  // namespace
}  // namespace lerobot
