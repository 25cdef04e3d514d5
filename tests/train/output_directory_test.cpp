#include "lerobot/train/output_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lerobot/core/error.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::train {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class OutputDirectoryTest : public testing::Test {
 protected:
  FileSystem& files_ = local_file_system();
  testing_support::TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_.path() / "train" / "run";
};

TEST_F(OutputDirectoryTest, IsMadeWhenAskedForAndGoesWhenNothingCameIntoIt) {
  {
    OutputDirectory output_directory(files_, path_);
    EXPECT_FALSE(std::filesystem::exists(path_));
    output_directory.make();
    EXPECT_TRUE(std::filesystem::exists(path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(OutputDirectoryTest, StaysWithWhatCameIntoIt) {
  {
    OutputDirectory output_directory(files_, path_);
    output_directory.make();
    files_.write_file(path_ / "metrics.jsonl", "{}");
  }
  EXPECT_TRUE(std::filesystem::exists(path_ / "metrics.jsonl"));
}

TEST_F(OutputDirectoryTest, ThatWasThereBeforeStays) {
  std::filesystem::create_directories(path_);
  { OutputDirectory(files_, path_).make(); }
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(OutputDirectoryTest, BelongsToOneRunAtATime) {
  const auto refused = ThrowsMessage<UsageError>(HasSubstr("another lerobot-train is at work in '" + path_.string()));
  OutputDirectory first(files_, path_);
  OutputDirectory second(files_, path_);
  first.make();
  EXPECT_THAT([&] { second.make(); }, refused);
  EXPECT_THAT([&] { OutputDirectory(files_, path_); }, refused);
}

}  // namespace
}  // namespace lerobot::train
