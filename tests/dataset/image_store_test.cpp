#include "image_store.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "dataset/toy_dataset.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

// One Parquet file with six row groups of two images; image i is 100 bytes of value i.
class ImageStoreTest : public testing::Test {
 protected:
  ImageStoreTest() {
    std::vector<std::optional<std::string>> bytes, paths(12, "");
    std::vector<FrameLocation> locations;
    for (int32_t i = 0; i < 12; ++i) {
      bytes.push_back(std::string(100, static_cast<char>(i)));
      locations.push_back({0, i / 2, i % 2});
    }
    testing_support::write_parquet(file_, {{"camera", testing_support::image_column(bytes, paths)}}, 2);
    locations_ = locations;
  }

  ImageStore store(size_t cache_bytes) const { return {{file_}, locations_, cache_bytes}; }

  testing_support::TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_.path() / "images.parquet";
  std::vector<FrameLocation> locations_;
};

TEST_F(ImageStoreTest, ReadsARowGroupOnceWhileItFits) {
  ImageStore images = store(1000000);
  for (int round = 0; round < 2; ++round) {
    for (int64_t row = 0; row < 12; ++row) {
      const auto bytes = images.read("camera", row);
      ASSERT_EQ(bytes.size(), 100);
      EXPECT_THAT(bytes, Each(static_cast<std::byte>(row)));
    }
  }
  EXPECT_EQ(images.row_groups_read(), 6);
}

TEST_F(ImageStoreTest, ForgetsTheLeastRecentlyUsedRowGroup) {
  ImageStore images = store(400);                               // two row groups
  for (int64_t row : {0, 2, 0, 4}) images.read("camera", row);  // groups 0, 1, 0, 2: group 1 goes
  EXPECT_EQ(images.row_groups_read(), 3);
  images.read("camera", 1);
  EXPECT_EQ(images.row_groups_read(), 3);
  images.read("camera", 3);
  EXPECT_EQ(images.row_groups_read(), 4);
}

TEST_F(ImageStoreTest, KeepsOneRowGroupThatIsLargerThanTheCache) {
  ImageStore images = store(50);
  images.read("camera", 0);
  images.read("camera", 1);
  EXPECT_EQ(images.row_groups_read(), 1);
}

TEST_F(ImageStoreTest, ReadsARowGroupOnceForManyThreads) {
  ImageStore images = store(1000000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int64_t row = 0; row < 12; ++row) wrong += images.read("camera", row)[99] != static_cast<std::byte>(row);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(images.row_groups_read(), 6);
}

TEST_F(ImageStoreTest, NamesTheFileThatVanishedAndRecoversWithIt) {
  ImageStore images = store(1000000);
  const auto aside = directory_.path() / "aside";
  std::filesystem::rename(file_, aside);
  EXPECT_THAT([&] { images.read("camera", 0); }, ThrowsMessage<RunError>(HasSubstr(file_.string())));
  std::filesystem::rename(aside, file_);
  EXPECT_EQ(images.read("camera", 0).size(), 100);
}

}  // namespace
}  // namespace lerobot::dataset
