#include "lerobot/eval/video_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <mutex>

#include "eval/video_file.hpp"
#include "lerobot/core/error.hpp"
#include "support/fault_injection_file_system.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::TemporaryDirectory;

env::Image frame(int64_t width, int64_t height, std::vector<uint8_t> colour) {
  env::Image image{width, height, {}};
  for (int64_t i = 0; i < width * height; ++i) image.rgb.insert(image.rgb.end(), colour.begin(), colour.end());
  return image;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class VideoWriterTest : public testing::Test {
 protected:
  VideoWriterOptions options() {
    VideoWriterOptions options;
    options.fps = 10;
    options.warn = [this](std::string_view message) { warnings.emplace_back(message); };
    return options;
  }
  std::filesystem::path path() const { return folder.path() / "videos" / "one.mp4"; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    if (!std::filesystem::exists(path().parent_path())) return names;
    for (const auto& entry : std::filesystem::directory_iterator(path().parent_path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  std::string failure_of(VideoWriter& writer) {
    try {
      writer.wait();
    } catch (const RunError& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory folder;
  std::vector<std::string> warnings;  // read after wait()
};

TEST_F(VideoWriterTest, WritesEveryFrameInItsColourAndOrder) {
  VideoWriter writer(local_file_system(), path(), options());
  for (int i = 0; i < 25; ++i) writer.add(frame(64, 48, {static_cast<uint8_t>(10 * i), 40, 200}));
  writer.wait();
  EXPECT_EQ(count_frames(path(), 10, 48, 64), 25);
  for (const int64_t index : {0, 12, 24}) {
    const std::vector<double> colour = mean_colour(path(), index, 10, 48, 64);
    EXPECT_NEAR(colour[0], 10.0 * static_cast<double>(index), 6);
    EXPECT_NEAR(colour[1], 40, 6);
    EXPECT_NEAR(colour[2], 200, 6);
  }
  EXPECT_THAT(files(), ElementsAre("one.mp4"));
  EXPECT_THAT(warnings, ElementsAre());
}

TEST_F(VideoWriterTest, IsH264AsLeRobotEncodesIt) {
  VideoWriter writer(local_file_system(), path(), options());
  for (int i = 0; i < 3; ++i) writer.add(frame(32, 32, {9, 9, 9}));
  writer.wait();
  const std::string bytes = bytes_of(path());
  EXPECT_THAT(bytes, HasSubstr("avc1"));
  EXPECT_THAT(bytes, HasSubstr("crf=23.0"));  // in libx264's own note on its settings
  EXPECT_THAT(bytes, HasSubstr("bframes=3"));
  EXPECT_THAT(bytes, HasSubstr("keyint=250"));
}

TEST_F(VideoWriterTest, GivesTheSameBytesAgain) {
  const auto write = [&](const std::filesystem::path& file) {
    VideoWriter writer(local_file_system(), file, options());
    for (int i = 0; i < 12; ++i) writer.add(frame(64, 64, {static_cast<uint8_t>(17 * i), 0, 99}));
    writer.wait();
    return bytes_of(file);
  };
  EXPECT_EQ(write(folder.path() / "a.mp4"), write(folder.path() / "b.mp4"));
}

TEST_F(VideoWriterTest, WaitsForTheEncoderInsteadOfHoardingFrames) {
  VideoWriterOptions small = options();
  small.max_waiting_frames = 1;
  VideoWriter writer(local_file_system(), path(), small);
  for (int i = 0; i < 100; ++i) writer.add(frame(32, 32, {1, 2, 3}));
  writer.wait();
  EXPECT_EQ(count_frames(path(), 10, 32, 32), 100);
}

TEST_F(VideoWriterTest, CutsOddSizesWithAWarning) {
  VideoWriter writer(local_file_system(), path(), options());
  for (int i = 0; i < 4; ++i) writer.add(frame(65, 49, {200, 100, 50}));
  writer.wait();
  EXPECT_EQ(count_frames(path(), 10, 48, 64), 4);
  EXPECT_NEAR(mean_colour(path(), 0, 10, 48, 64)[0], 200, 6);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("65 x 49 pixels are cut to 64 x 48"));
}

TEST_F(VideoWriterTest, NamesTheEncoderThatStandsIn) {
  VideoWriterOptions other = options();
  other.encoders = {"libx264-of-another-day", "mpeg4"};
  VideoWriter writer(local_file_system(), path(), other);
  for (int i = 0; i < 4; ++i) writer.add(frame(32, 32, {200, 100, 50}));
  writer.wait();
  EXPECT_EQ(count_frames(path(), 10, 32, 32), 4);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::AllOf(HasSubstr("encoded with mpeg4"), HasSubstr("libx264-of-another-day")));
}

TEST_F(VideoWriterTest, FailsWithoutAnyEncoder) {
  VideoWriterOptions none = options();
  none.encoders = {"no-such-encoder"};
  VideoWriter writer(local_file_system(), path(), none);
  for (int i = 0; i < 40; ++i) writer.add(frame(32, 32, {1, 1, 1}));  // more than may wait
  EXPECT_THAT(failure_of(writer), testing::AllOf(HasSubstr("one.mp4"), HasSubstr("no-such-encoder")));
  EXPECT_THAT(files(), ElementsAre());
}

TEST_F(VideoWriterTest, RefusesAFrameOfAnotherSize) {
  VideoWriter writer(local_file_system(), path(), options());
  writer.add(frame(32, 32, {1, 1, 1}));
  writer.add(frame(32, 16, {1, 1, 1}));
  EXPECT_THAT(failure_of(writer), HasSubstr("frame 1 is of 32 x 16"));
}

TEST_F(VideoWriterTest, RefusesAVideoWithoutFrames) {
  VideoWriter writer(local_file_system(), path(), options());
  EXPECT_THAT(failure_of(writer), HasSubstr("no frame"));
}

TEST_F(VideoWriterTest, LeavesNothingOfAVideoThatWasNotEnded) {
  {
    VideoWriter writer(local_file_system(), path(), options());
    writer.add(frame(32, 32, {1, 1, 1}));
  }
  EXPECT_THAT(files(), ElementsAre());
}

TEST_F(VideoWriterTest, KeepsTheFormerVideoWhicheverOperationFails) {
  local_file_system().create_directories(path().parent_path());
  local_file_system().write_file(path(), "the former video");
  int64_t operation = 0;
  for (;; ++operation) {
    ASSERT_LT(operation, 20);
    testing_support::FaultInjectionFileSystem disk;
    disk.inject(testing_support::Fault::kError, operation, std::errc::no_space_on_device);
    VideoWriter writer(disk, path(), options());
    writer.add(frame(32, 32, {1, 1, 1}));
    const std::string failure = failure_of(writer);
    if (failure == "no error") break;
    EXPECT_THAT(failure, HasSubstr("one.mp4"));
    EXPECT_THAT(files(), ElementsAre("one.mp4"));
    if (bytes_of(path()) != "the former video") {
      EXPECT_EQ(count_frames(path(), 10, 32, 32), 1) << operation;
    }
  }
  EXPECT_GE(operation, 5);
}

}  // namespace
}  // namespace lerobot::eval
