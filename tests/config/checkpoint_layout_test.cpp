#include "lerobot/config/checkpoint_layout.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "lerobot/core/error.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(StepDirectoryName, PadsToSixDigitsOrAsManyAsTheTotalHas) {
  EXPECT_EQ(step_directory_name(10, 100), "000010");
  EXPECT_EQ(step_directory_name(100000, 100000), "100000");
  EXPECT_EQ(step_directory_name(10, 12345678), "00000010");
  EXPECT_EQ(step_directory_name(1234567, 100), "1234567");
}

TEST(StepDirectoryName, IsReadBackOnlyWhenItIsAllDigits) {
  EXPECT_EQ(step_of("000010"), 10);
  for (const char* name : {"", "-5", "+5", "10a", "a10", " 10", "last", ".000010.tmp-1", "99999999999999999999"}) {
    EXPECT_FALSE(step_of(name)) << name;
  }
}

class CheckpointLayout : public testing::Test {
 protected:
  fs::path make(const std::string& name) const {
    fs::create_directories(checkpoints_ / name / "pretrained_model");
    return checkpoints_ / name;
  }
  void write_last(const std::string& text) const {
    fs::create_directories(checkpoints_);
    std::ofstream(checkpoints_ / "last") << text;
  }

  testing_support::TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
  fs::path checkpoints_ = root_ / "checkpoints";
};

TEST_F(CheckpointLayout, ListsStepsByNumberAndNothingElse) {
  for (const char* name : {"000010", "9", "1000000", ".000011.tmp-1", ".000012.old-1", "best"}) make(name);
  std::ofstream(checkpoints_ / "000013") << "no folder";
  fs::create_directory_symlink("000010", checkpoints_ / "000014");
  EXPECT_THAT(step_directories(checkpoints_), ElementsAre(checkpoints_ / "9", checkpoints_ / "000010",
                                                          checkpoints_ / "000014", checkpoints_ / "1000000"));
  EXPECT_TRUE(step_directories(root_ / "absent").empty());
}

TEST_F(CheckpointLayout, LastIsResolvedToTheStep) {
  make("000010");
  fs::create_directory_symlink("000010", checkpoints_ / "last");
  EXPECT_EQ(resolve_last(root_), fs::canonical(checkpoints_ / "000010"));
}

TEST_F(CheckpointLayout, ALastThatIsAFileIsResolvedToTheStepItNames) {
  make("000010");
  write_last("000010\n");
  EXPECT_EQ(resolve_last(root_), fs::canonical(checkpoints_ / "000010"));
}

TEST_F(CheckpointLayout, AMissingLastSaysWhatIsMissing) {
  EXPECT_THAT([&] { resolve_last(root_); }, ThrowsMessage<UsageError>(HasSubstr("holds no checkpoints")));
  fs::create_directories(checkpoints_);
  EXPECT_THAT([&] { resolve_last(root_); },
              ThrowsMessage<UsageError>(HasSubstr("there is no " + (checkpoints_ / "last").string())));
  fs::create_directory_symlink("000010", checkpoints_ / "last");
  EXPECT_THAT([&] { resolve_last(root_); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("leads to"), HasSubstr("000010, which does not exist"))));
  fs::remove(checkpoints_ / "last");
  write_last("../../elsewhere");
  EXPECT_THAT([&] { resolve_last(root_); },
              ThrowsMessage<UsageError>(HasSubstr("neither a link nor a file with the name of a checkpoint")));
}

TEST_F(CheckpointLayout, FollowsWhereTheSystemDoesNot) {
  make("000010");
  write_last("000010");
  EXPECT_EQ(follow(checkpoints_ / "last"), checkpoints_ / "000010");
  EXPECT_EQ(follow(checkpoints_ / "last" / "pretrained_model" / "x.json"),
            checkpoints_ / "000010" / "pretrained_model" / "x.json");
  // A run died between the two renames that replace a checkpoint.
  fs::rename(checkpoints_ / "000010", checkpoints_ / ".000010.old-77");
  const fs::path set_aside = checkpoints_ / ".000010.old-77";
  EXPECT_EQ(follow(checkpoints_ / "last" / "pretrained_model"), set_aside / "pretrained_model");
  EXPECT_EQ(follow(checkpoints_ / "000010" / "pretrained_model"), set_aside / "pretrained_model");
  fs::remove(checkpoints_ / "last");
  fs::create_directory_symlink("000010", checkpoints_ / "last");
  EXPECT_EQ(follow(checkpoints_ / "last" / "pretrained_model"), set_aside / "pretrained_model");
  EXPECT_EQ(resolve_last(root_), fs::canonical(set_aside));
}

TEST_F(CheckpointLayout, LeavesOtherPathsAsTheyAre) {
  make("000010");
  fs::create_directory_symlink("000010", checkpoints_ / "last");
  for (const fs::path& path : {checkpoints_ / "last" / "pretrained_model" / "", checkpoints_ / "000011", root_ / "a/b",
                               fs::path("config.json"), fs::path("a/b"), fs::path("last")}) {
    EXPECT_EQ(follow(path), path);
  }
}

TEST_F(CheckpointLayout, TheNewestIsThatOfLastAndWithoutALastTheHighest) {
  EXPECT_FALSE(newest_checkpoint(checkpoints_));
  make("000005");
  make("1000000");
  make("000010");
  EXPECT_EQ(newest_checkpoint(checkpoints_), checkpoints_ / "1000000");
  write_last("000005");
  EXPECT_EQ(newest_checkpoint(checkpoints_), checkpoints_ / "000005");
  write_last("000006");
  EXPECT_FALSE(newest_checkpoint(checkpoints_));
}

TEST(HiddenNames, CarryTheNameTheyStandFor) {
  EXPECT_EQ(visible_name(hidden_name("000010", kBeingWritten), kBeingWritten), "000010");
  EXPECT_EQ(visible_name(".last.tmp-7", kBeingWritten), "last");
  EXPECT_FALSE(visible_name(".000010.tmp-7", kSetAside));
  for (const char* name : {"000010.tmp-7", ".notes.tmp-7", ".000010.tmp-draft", ".000010.tmp-", ".000010", "..tmp-7"}) {
    EXPECT_FALSE(visible_name(name, kBeingWritten)) << name;
  }
}

}  // namespace
}  // namespace lerobot::checkpoint
