#include "lerobot/checkpoint/housekeeping.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "lerobot/config/checkpoint_layout.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Housekeeping : public testing::Test {
 protected:
  void make(const std::string& name) const {
    fs::create_directories(checkpoints_ / name);
    std::ofstream(checkpoints_ / name / "file") << name;
  }
  void point_last_at(const std::string& name) const { fs::create_directory_symlink(name, checkpoints_ / "last"); }
  void keep(int64_t limit, const std::string& just_written) const {
    remove_old_checkpoints(local_file_system(), output_dir_, limit, checkpoints_ / just_written);
  }
  std::vector<std::string> clean_up() const { return remove_leftovers(local_file_system(), output_dir_); }
  std::set<std::string> entries() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  testing_support::TemporaryDirectory directory_;
  fs::path output_dir_ = directory_.path();
  fs::path checkpoints_ = output_dir_ / "checkpoints";
};

using Names = std::set<std::string>;

TEST_F(Housekeeping, KeepsTheNewestByNumber) {
  for (const char* name : {"000005", "9", "000010", "1000000"}) make(name);
  point_last_at("1000000");
  keep(2, "1000000");
  EXPECT_EQ(entries(), (Names{"000010", "1000000", "last"}));
  keep(2, "1000000");
  EXPECT_EQ(entries(), (Names{"000010", "1000000", "last"}));
}

TEST_F(Housekeeping, NeverTakesTheOneJustWrittenNorThatOfLast) {
  // A run that went back to step 5 of a longer one.
  for (const char* name : {"000004", "000005", "000006", "000010", "000015"}) make(name);
  point_last_at("000005");
  keep(1, "000006");
  EXPECT_EQ(entries(), (Names{"000005", "000006", "000015", "last"}));
  // The same where `last` is a file.
  fs::remove(checkpoints_ / "last");
  std::ofstream(checkpoints_ / "last") << "000005\n";
  keep(1, "000006");
  EXPECT_EQ(entries(), (Names{"000005", "000006", "000015", "last"}));
}

TEST_F(Housekeeping, TakesOnlyRealFoldersNamedAsSteps) {
  for (const char* name : {"000005", "000010", "best", "000001-copy", ".000002.tmp-x"}) make(name);
  fs::create_directories(output_dir_ / "elsewhere");
  fs::create_directory_symlink(output_dir_ / "elsewhere", checkpoints_ / "000001");
  std::ofstream(checkpoints_ / "000002") << "a file";
  point_last_at("000010");
  keep(1, "000010");
  EXPECT_EQ(entries(), (Names{"000001", "000002", "000010", "best", "000001-copy", ".000002.tmp-x", "last"}));
  EXPECT_TRUE(fs::exists(output_dir_ / "elsewhere"));
}

TEST_F(Housekeeping, RemovesWhatDeadRunsLeftBehindAndSaysSo) {
  for (const char* name : {".000007.tmp-12345", ".000010.old-12345", ".000001.gone-12345", ".000005.old-12345",
                           "000010", ".notes.tmp-draft", ".000010.tmp-draft"}) {
    make(name);
  }
  fs::create_directory_symlink("000007", checkpoints_ / ".last.tmp-12345");
  EXPECT_THAT(clean_up(), UnorderedElementsAre(
                              AllOf(HasSubstr(".000007.tmp-12345"), HasSubstr("a save that did not finish")),
                              AllOf(HasSubstr(".last.tmp-12345"), HasSubstr("a save that did not finish")),
                              AllOf(HasSubstr(".000010.old-12345"), HasSubstr("has been replaced")),
                              AllOf(HasSubstr(".000001.gone-12345"), HasSubstr("removal did not finish")),
                              AllOf(HasSubstr((checkpoints_ / "000005").string()), HasSubstr("has its name back"))));
  EXPECT_EQ(entries(), (Names{"000005", "000010", ".notes.tmp-draft", ".000010.tmp-draft"}));
  EXPECT_TRUE(fs::exists(checkpoints_ / "000005" / "file"));
  EXPECT_THAT(clean_up(), IsEmpty());
}

TEST_F(Housekeeping, DoesNothingWithoutACheckpointsFolder) {
  EXPECT_THAT(clean_up(), IsEmpty());
  EXPECT_FALSE(fs::exists(checkpoints_));
}

}  // namespace
}  // namespace lerobot::checkpoint
