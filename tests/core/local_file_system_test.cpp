#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "lerobot/core/error.hpp"
#include "lerobot/core/file_system.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class LocalFileSystem : public testing::Test {
 protected:
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  testing_support::TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
  FileSystem& files_ = local_file_system();
};

TEST_F(LocalFileSystem, CreateTruncatesAndAppendToKeeps) {
  files_.write_file(root_ / "log", "a longer first text");
  files_.write_file(root_ / "log", "one");
  const auto file = files_.append_to(root_ / "log");
  file->append(std::string_view(", two"));
  file->close();
  EXPECT_EQ(read(root_ / "log"), "one, two");
}

TEST_F(LocalFileSystem, FilesAreReadableAsTheUmaskSays) {
  const mode_t before = umask(027);
  files_.write_file(root_ / "file", "x");
  umask(before);
  EXPECT_EQ(fs::status(root_ / "file").permissions(), fs::perms(0640));
}

TEST_F(LocalFileSystem, RenameReplacesAFileAndASymlink) {
  files_.write_file(root_ / "new", "new");
  files_.write_file(root_ / "old", "old");
  files_.rename(root_ / "new", root_ / "old");
  EXPECT_EQ(read(root_ / "old"), "new");

  files_.create_symlink("000005", root_ / "last");
  files_.create_symlink("000010", root_ / ".last");
  files_.rename(root_ / ".last", root_ / "last");
  EXPECT_EQ(fs::read_symlink(root_ / "last"), "000010");
}

TEST_F(LocalFileSystem, ExchangeSwapsTwoDirectories) {
  files_.create_directories(root_ / "a");
  files_.create_directories(root_ / "b");
  files_.write_file(root_ / "a" / "file", "a");
  files_.write_file(root_ / "b" / "file", "b");
  if (!files_.exchange(root_ / "a", root_ / "b")) GTEST_SKIP() << "this file system has no atomic exchange";
  EXPECT_EQ(read(root_ / "a" / "file"), "b");
  EXPECT_EQ(read(root_ / "b" / "file"), "a");
}

TEST_F(LocalFileSystem, RemoveAllTakesWholeTreesAndAbsentPaths) {
  files_.create_directories(root_ / "a" / "b");
  files_.write_file(root_ / "a" / "b" / "file", "x");
  files_.remove_all(root_ / "a");
  files_.remove_all(root_ / "a");
  EXPECT_FALSE(fs::exists(root_ / "a"));
}

TEST_F(LocalFileSystem, SyncsDirectories) {
  files_.sync_directory(root_);
  files_.sync_directory("");  // the current one
  EXPECT_THAT([&] { files_.sync_directory(root_ / "absent"); },
              ThrowsMessage<RunError>(AllOf(HasSubstr((root_ / "absent").string()), HasSubstr("No such file"))));
}

TEST_F(LocalFileSystem, ErrorsNameThePathAndTheReason) {
  EXPECT_THAT(
      [&] { files_.create(root_ / "absent" / "file"); },
      ThrowsMessage<RunError>("cannot create " + (root_ / "absent" / "file").string() + ": No such file or directory"));
  EXPECT_THAT([&] { files_.create(root_); }, ThrowsMessage<RunError>(HasSubstr("Is a directory")));
  files_.write_file(root_ / "file", "x");
  EXPECT_THAT([&] { files_.create_directories(root_ / "file" / "below"); },
              ThrowsMessage<RunError>(AllOf(HasSubstr("cannot create the directory"), HasSubstr("Not a directory"))));
  EXPECT_THAT([&] { files_.create_symlink("x", root_ / "file"); }, ThrowsMessage<RunError>(HasSubstr("File exists")));
  EXPECT_THAT([&] { files_.rename(root_ / "absent", root_ / "file"); },
              ThrowsMessage<RunError>(AllOf(HasSubstr("absent to "), HasSubstr("No such file"))));
}

TEST_F(LocalFileSystem, AFullDiskIsReported) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto file = files_.append_to("/dev/full");
  EXPECT_THAT([&] { file->append(std::string_view("x")); },
              ThrowsMessage<RunError>("cannot write to /dev/full: No space left on device"));
}

}  // namespace
}  // namespace lerobot
