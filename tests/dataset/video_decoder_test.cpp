#include "lerobot/dataset/video_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "dataset/sha256.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::dataset {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kFps = 30.0;
constexpr double kTolerance = 1e-4;
const std::filesystem::path kClips = std::filesystem::path(LEROBOT_TEST_DATA) / "video";

std::filesystem::path clip(const std::string& name) {
  return kClips / (name + ".mp4");
}

// As a dataset holds it: frame / fps, rounded to float32.
double time_of(int64_t frame) {
  return static_cast<double>(static_cast<float>(static_cast<double>(frame) / kFps));
}

std::vector<uint8_t> read(VideoFrames& videos, const std::string& name, const std::vector<int64_t>& frames,
                          int64_t height = 64, int64_t width = 64) {
  std::vector<double> times;
  for (const int64_t frame : frames) times.push_back(time_of(frame));
  std::vector<uint8_t> out(frames.size() * 3 * height * width);
  videos.read(clip(name), times, kTolerance, out, height, width);
  return out;
}

std::string sha256_of(std::span<const uint8_t> pixels) {
  return testing_support::sha256(std::as_bytes(pixels));
}

// The number that tests/data/video/make_clips.py painted into a 64 x 64 frame.
int64_t painted_number(std::span<const uint8_t> frame) {
  int64_t number = 0;
  for (int64_t bit = 0; bit < 6; ++bit) {
    if (frame[24 * 64 + bit * 10 + 7] > 127) number |= int64_t{1} << bit;
  }
  return number;
}

std::vector<int64_t> shuffled(int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  return order;
}

std::string error_of(VideoFrames& videos, const std::filesystem::path& file, double time = 0.0, int64_t size = 64) {
  std::vector<uint8_t> out(3 * size * size);
  try {
    videos.read(file, std::span(&time, 1), kTolerance, out, size, size);
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

std::filesystem::path write(const testing_support::TemporaryDirectory& folder, const std::string& name,
                            const std::string& content) {
  const auto path = folder.path() / name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(VideoFrames, EqualsLeRobotBitForBitInRandomOrderOnEveryCodecAndPixelFormat) {
  const Json expected = read_json(kClips / "expected.json");
  for (const auto& [name, hashes] : expected.items()) {
    const int64_t height = name == "h264_84x84" ? 84 : name == "h264_98x50" ? 50 : 64;
    const int64_t width = name == "h264_84x84" ? 84 : name == "h264_98x50" ? 98 : 64;
    VideoFrames videos;
    for (const int64_t frame : shuffled(static_cast<int64_t>(hashes.size()))) {
      EXPECT_EQ(sha256_of(read(videos, name, {frame}, height, width)), hashes[frame].get<std::string>())
          << name << " frame " << frame;
    }
  }
}

// In x265's open groups B-frames are shown before the key frame that stands before them in the file; the container's
// own seek then lands behind the wanted frame.
TEST(VideoFrames, ShowsTheWantedFrameInOpenGroupsWithBFrames) {
  for (const auto* name : {"hevc_open_gop_g2", "hevc_open_gop_g10", "h264_open_gop_g10"}) {
    VideoFrames videos;
    for (const int64_t frame : shuffled(60)) EXPECT_EQ(painted_number(read(videos, name, {frame})), frame) << name;
  }
}

TEST(VideoFrames, DecodesNothingFromAKeyFrameThatIsShownAfterTheWantedFrame) {
  VideoFrames videos;
  for (const int64_t frame : shuffled(60)) read(videos, "hevc_open_gop_g2", {frame});
  EXPECT_LE(videos.counters().decoded, 90);  // the wanted frame and, for odd ones, its key frame
}

// With periodic intra refresh a sync sample's own picture is not whole, and the file's last sync sample never gets
// there.
TEST(VideoFrames, BeginsEarlierWhereASyncSampleDoesNotGiveAWholePicture) {
  for (const int64_t frame : {13, 34, 58, 59}) {
    VideoFrames videos;
    EXPECT_EQ(painted_number(read(videos, "h264_intra_refresh", {frame})), frame);
  }
}

TEST(VideoFrames, ReadsTheLastFramesFromAFreshDecoder) {
  for (const auto* name : {"hevc_open_gop_g10", "h264_g10", "mpeg4_g12"}) {
    for (const int64_t frame : {59, 58}) {
      VideoFrames videos;
      EXPECT_EQ(painted_number(read(videos, name, {frame})), frame) << name;
    }
  }
}

TEST(VideoFrames, FillsAWindowInItsOwnOrderWithRepeats) {
  VideoFrames videos;
  const std::vector<int64_t> window = {7, 3, 3, 12, 0, 7};
  const auto frames = read(videos, "h264_g10", window);
  const size_t size = frames.size() / window.size();
  for (size_t i = 0; i < window.size(); ++i) {
    EXPECT_EQ(painted_number(std::span(frames).subspan(i * size, size)), window[i]);
  }
  EXPECT_EQ(videos.counters().converted, 4);
}

TEST(VideoFrames, DecodesAWindowOfOneGroupInOnePass) {
  VideoFrames videos;
  read(videos, "h264_g10", {13, 14, 15, 16, 17, 18});
  EXPECT_EQ(videos.counters().seeks, 1);
  EXPECT_LE(videos.counters().decoded, 7);  // the key frame is 12
}

TEST(VideoFrames, DecodesAtMostTwoFramesForARandomAccessInLeRobotsOwnEncoding) {
  VideoFrames videos;
  for (const int64_t frame : {17, 4, 9, 0, 13}) {
    const int64_t before = videos.counters().decoded;
    read(videos, "av1_g2", {frame});
    EXPECT_LE(videos.counters().decoded - before, 2) << frame;
  }
}

TEST(VideoFrames, ReadsAWholeVideoForwardWithASingleSeek) {
  VideoFrames videos;
  for (int64_t frame = 0; frame < 20; ++frame) read(videos, "av1_g2", {frame});
  EXPECT_EQ(videos.counters().seeks, 1);
  EXPECT_EQ(videos.counters().decoded, 20);
}

TEST(VideoFrames, ReusesAnIdleDecoderAndClosesThoseBeyondTheLimit) {
  VideoFrames videos({.max_idle_decoders = 1});
  read(videos, "h264_g10", {5});
  read(videos, "h264_g10", {25});
  EXPECT_EQ(videos.counters().opened, 1);
  read(videos, "mpeg4_g12", {5});
  read(videos, "h264_g10", {5});
  EXPECT_EQ(videos.counters().opened, 3);
}

TEST(VideoFrames, ServesManyThreadsAtOnce) {
  VideoFrames videos;
  std::vector<int64_t> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const std::string name = t % 2 == 0 ? "h264_g10" : "hevc_open_gop_g2";
      for (int64_t frame = 0; frame < 60; ++frame) {
        const int64_t wanted = frame * 7 % 60;
        if (painted_number(read(videos, name, {wanted})) != wanted) ++wrong[t];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
  EXPECT_LE(videos.counters().opened, 4);
}

TEST(VideoFrames, RefusesATimeFarFromEveryFrameAndNamesWantedFoundAndFlag) {
  VideoFrames videos;
  EXPECT_THAT(error_of(videos, clip("h264_g10"), 0.11),
              AllOf(HasSubstr("h264_g10.mp4"), HasSubstr("--tolerance_s=0.0001"), HasSubstr("Wanted: [0.11]"),
                    HasSubstr("nearest frames: [0.1]")));
  // Behind the last frame, at 59 / 30 s.
  EXPECT_THAT(error_of(videos, clip("h264_g10"), 2.0), HasSubstr("nearest frames: [1.96666667]"));
  EXPECT_THAT(error_of(videos, clip("h264_g10"), -1.0), HasSubstr("nearest frames: [0]"));
}

TEST(VideoFrames, AcceptsADistanceUpToTheToleranceAndTakesTheNearerFrame) {
  VideoFrames videos;
  std::vector<uint8_t> out(3 * 64 * 64);
  for (const auto& [time, frame] : {std::pair{0.11, 3}, {0.12, 4}}) {  // frames at 0.1 and 0.1333
    videos.read(clip("h264_g10"), std::span(&time, 1), 0.02, out, 64, 64);
    EXPECT_EQ(painted_number(out), frame);
  }
}

TEST(VideoFrames, StaysUsableAfterAnError) {
  VideoFrames videos;
  error_of(videos, clip("h264_g10"), 0.11);
  EXPECT_EQ(painted_number(read(videos, "h264_g10", {21})), 21);
}

TEST(VideoFrames, NamesTheFileThatIsAbsentEmptyForeignOrAPointer) {
  const testing_support::TemporaryDirectory folder;
  VideoFrames videos;
  EXPECT_THAT(error_of(videos, folder.path() / "gone.mp4"), AllOf(HasSubstr("gone.mp4"), HasSubstr("does not exist")));
  EXPECT_THAT(error_of(videos, folder.path()), HasSubstr("is not a regular file"));
  EXPECT_THAT(error_of(videos, write(folder, "empty.mp4", "")), AllOf(HasSubstr("empty.mp4"), HasSubstr("is empty")));
  EXPECT_THAT(error_of(videos, write(folder, "text.mp4", std::string(4000, 'x'))),
              AllOf(HasSubstr("text.mp4"), HasSubstr("not a readable video")));
  EXPECT_THAT(error_of(videos, write(folder, "lfs.mp4", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
              AllOf(HasSubstr("lfs.mp4"), HasSubstr("git lfs pull")));
}

TEST(VideoFrames, NamesAFileThatIsCutShort) {
  const testing_support::TemporaryDirectory folder;
  VideoFrames videos;
  const auto cut = [&](const std::string& name, const std::string& from) {
    const std::string whole = content_of(clip(from));
    return write(folder, name, whole.substr(0, whole.size() * 2 / 3));
  };
  EXPECT_THAT(error_of(videos, cut("no_index.mp4", "mpeg4_g12")),
              AllOf(HasSubstr("no_index.mp4"), HasSubstr("may be cut short")));
  EXPECT_THAT(error_of(videos, cut("no_end.mp4", "h264_g10")),
              AllOf(HasSubstr("no_end.mp4"), HasSubstr("is cut short")));
}

TEST(VideoFrames, ReportsDamageInTheStreamWithFileAndTime) {
  const testing_support::TemporaryDirectory folder;
  VideoFrames videos;
  std::string content = content_of(clip("av1_g2"));
  const size_t data = content.find("mdat") + 4;
  std::fill(content.begin() + data, content.begin() + data + 2000, '\xff');
  const auto damaged = write(folder, "damaged.mp4", content);
  EXPECT_THAT(error_of(videos, damaged), AllOf(HasSubstr("damaged.mp4"), HasSubstr("is damaged near 0.0")));
}

TEST(VideoFrames, RefusesFramesOfAnotherSizeThanTheDatasetDeclares) {
  VideoFrames videos;
  EXPECT_THAT(error_of(videos, clip("h264_g10"), 0.0, 32),
              AllOf(HasSubstr("h264_g10.mp4"), HasSubstr("64 x 64"), HasSubstr("32 x 32")));
}

}  // namespace
}  // namespace lerobot::dataset
