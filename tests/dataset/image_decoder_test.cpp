#include "lerobot/dataset/image_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "dataset/sha256.hpp"
#include "lerobot/core/error.hpp"
#include "lerobot/core/json.hpp"

namespace lerobot::dataset {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::filesystem::path kImages = std::filesystem::path(LEROBOT_TEST_DATA) / "image";

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string sha256_of(const torch::Tensor& tensor) {
  return testing_support::sha256({static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()});
}

std::string error_of(std::span<const std::byte> file) {
  try {
    decode_image(file);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(ImageDecoder, EqualsLeRobotBitForBitOnEveryKindOfFile) {
  const Json expected = read_json(kImages / "expected.json");
  ASSERT_EQ(expected.size(), 17U);
  for (const auto& [name, facts] : expected.items()) {
    const torch::Tensor image = decode_image(read_bytes(kImages / name));
    EXPECT_EQ(image.sizes().vec(), facts["shape"].get<std::vector<int64_t>>()) << name;
    EXPECT_EQ(sha256_of(image), facts["sha256"].get<std::string>()) << name;
  }
}

TEST(ImageDecoder, RefusesAFileThatEndsEarlyAndSaysWhichFormatItIs) {
  for (const auto& [name, format] : {std::pair{"rgb.png", "PNG"}, {"subsampled.jpg", "JPEG"}, {"rgb.tiff", "TIFF"}}) {
    const auto whole = read_bytes(kImages / name);
    EXPECT_THAT(error_of(std::span(whole).first(whole.size() * 2 / 3)), HasSubstr(std::string("damaged ") + format));
  }
}

TEST(ImageDecoder, RefusesASizeThatOnlyADamagedHeaderAsksFor) {
  auto file = read_bytes(kImages / "rgb.tiff");
  const std::byte width_tag[] = {std::byte{0}, std::byte{1}, std::byte{4}, std::byte{0}};  // 256, of type LONG
  const auto entry = std::search(file.begin(), file.end(), std::begin(width_tag), std::end(width_tag));
  ASSERT_NE(entry, file.end());
  entry[11] = std::byte{0x7f};  // the highest byte of the value
  EXPECT_THAT(error_of(file), HasSubstr("damaged"));
}

TEST(ImageDecoder, NamesTheFirstBytesOfAnUnknownFormat) {
  const std::string gif = "GIF89a..";
  EXPECT_THAT(error_of(std::as_bytes(std::span(gif))), AllOf(HasSubstr("PNG, JPEG or TIFF"), HasSubstr("47 49 46 38")));
  EXPECT_THAT(error_of({}), HasSubstr("begins with nothing"));
}

}  // namespace
}  // namespace lerobot::dataset
