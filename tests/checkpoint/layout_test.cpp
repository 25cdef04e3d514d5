#include "lerobot/checkpoint/layout.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "lerobot/core/error.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(StepDirectoryName, PadsToSixDigitsOrAsManyAsTheTotalHas) {
  EXPECT_EQ(step_directory_name(10, 100), "000010");
  EXPECT_EQ(step_directory_name(100000, 100000), "100000");
  EXPECT_EQ(step_directory_name(10, 12345678), "00000010");
  EXPECT_EQ(step_directory_name(1234567, 100), "1234567");
}

class Layout : public testing::Test {
 protected:
  testing_support::TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
  fs::path checkpoints_ = root_ / "checkpoints";
};

TEST_F(Layout, TheStepIsTwoAboveTheConfigFileAndOneAboveItsFolder) {
  const fs::path pretrained_model = checkpoints_ / "000010" / "pretrained_model";
  fs::create_directories(pretrained_model);
  std::ofstream(pretrained_model / "train_config.json") << "{}";
  EXPECT_EQ(step_directory_of(pretrained_model / "train_config.json"), checkpoints_ / "000010");
  EXPECT_EQ(step_directory_of(pretrained_model), checkpoints_ / "000010");
  EXPECT_EQ(step_directory_of(pretrained_model / ""), checkpoints_ / "000010");
  EXPECT_EQ(step_directory_of("train_config.json"), "..");
}

TEST_F(Layout, LastIsResolvedToTheStep) {
  fs::create_directories(checkpoints_ / "000010");
  fs::create_directory_symlink("000010", checkpoints_ / "last");
  EXPECT_EQ(resolve_last(root_), fs::canonical(checkpoints_ / "000010"));
}

TEST_F(Layout, AMissingLastSaysWhatIsMissing) {
  EXPECT_THAT([&] { resolve_last(root_); }, ThrowsMessage<UsageError>(HasSubstr("holds no checkpoints")));
  fs::create_directories(checkpoints_);
  EXPECT_THAT([&] { resolve_last(root_); },
              ThrowsMessage<UsageError>(HasSubstr("there is no " + (checkpoints_ / "last").string())));
  fs::create_directory_symlink("000010", checkpoints_ / "last");
  EXPECT_THAT([&] { resolve_last(root_); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("leads to"), HasSubstr("000010, which does not exist"))));
}

}  // namespace
}  // namespace lerobot::checkpoint
