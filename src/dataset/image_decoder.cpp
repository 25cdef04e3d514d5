#include "lerobot/dataset/image_decoder.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "image_codecs.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

bool starts_with(std::span<const std::byte> file, std::string_view magic) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

RawImage decode_raw(std::span<const std::byte> file) {
  using namespace std::string_view_literals;
  if (starts_with(file, "\x89PNG\r\n\x1a\n"sv)) return decode_png(file);
  if (starts_with(file, "\xff\xd8\xff"sv)) return decode_jpeg(file);
  for (const auto magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (starts_with(file, magic)) return decode_tiff(file);
  }
  std::string head;
  for (size_t i = 0; i < file.size() && i < 8; ++i) head += fmt::format(" {:02x}", std::to_integer<int>(file[i]));
  throw UsageError(fmt::format("not a PNG, JPEG or TIFF image (it begins with{})", head.empty() ? " nothing" : head));
}

// HWC samples of type Stored to CHW floats.
template <class Stored, class Convert>
void spread(const RawImage& image, float* out, Convert convert) {
  const int64_t plane = image.height * image.width;
  const auto* samples = image.pixels.data();
  for (int64_t channel = 0; channel < image.channels; ++channel) {
    for (int64_t i = 0; i < plane; ++i) {
      Stored value;
      std::memcpy(&value, samples + (i * image.channels + channel) * sizeof(Stored), sizeof(Stored));
      out[channel * plane + i] = convert(value);
    }
  }
}

torch::Tensor to_tensor(const RawImage& image) {
  auto tensor = at::empty({image.channels, image.height, image.width}, at::kFloat);
  float* out = tensor.data_ptr<float>();
  const auto as_stored = [](auto value) { return static_cast<float>(value); };
  std::array<float, 256> fraction;
  for (int i = 0; i < 256; ++i) fraction[i] = static_cast<float>(i) / 255.0F;

  switch (image.sample) {
    case RawImage::Sample::kU8:
      spread<uint8_t>(image, out, [&](uint8_t value) { return fraction[value]; });
      break;
    case RawImage::Sample::kU16:
      if (image.channels == 1) {
        spread<uint16_t>(image, out, as_stored);
      } else {
        spread<uint16_t>(image, out, [&](uint16_t value) { return fraction[value >> 8]; });
      }
      break;
    case RawImage::Sample::kI16:
      spread<int16_t>(image, out, as_stored);
      break;
    case RawImage::Sample::kU32:
      spread<uint32_t>(image, out, as_stored);
      break;
    case RawImage::Sample::kI32:
      spread<int32_t>(image, out, as_stored);
      break;
    case RawImage::Sample::kF32:
      spread<float>(image, out, as_stored);
      break;
  }
  return tensor;
}

// EXIF 2.32, tag 274: how the stored rows and columns lie in the upright image.
torch::Tensor upright(const torch::Tensor& image, int orientation) {
  const bool transposed = orientation >= 5 && orientation <= 8;
  const torch::Tensor turned = transposed ? image.transpose(1, 2) : image;
  switch (orientation) {
    case 2:
    case 6:
      return turned.flip({2}).contiguous();
    case 3:
    case 7:
      return turned.flip({1, 2}).contiguous();
    case 4:
    case 8:
      return turned.flip({1}).contiguous();
    default:
      return turned.contiguous();
  }
}

}  // namespace

void allocate_pixels(RawImage& image, size_t row_bytes) {
  constexpr size_t kMostBytes = size_t{1} << 29;
  if (image.height <= 0 || row_bytes == 0 || row_bytes > kMostBytes / static_cast<size_t>(image.height)) {
    throw UsageError(fmt::format("damaged image: its header asks for {} x {} pixels of {} channels", image.height,
                                 image.width, image.channels));
  }
  image.pixels.resize(row_bytes * static_cast<size_t>(image.height));
}

int exif_orientation(std::span<const uint8_t> block) {
  constexpr uint16_t kOrientation = 274;
  if (block.size() < 8) return 1;
  const bool little = block[0] == 'I';
  const auto number = [&](size_t at, int bytes) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= uint32_t{block[at + i]} << (8 * (little ? i : bytes - 1 - i));
    return value;
  };
  const size_t directory = number(4, 4);
  if (directory + 2 > block.size()) return 1;
  const size_t entries = number(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (entry + 12 > block.size()) return 1;
    if (number(entry, 2) == kOrientation) return static_cast<int>(number(entry + 8, 2));
  }
  return 1;
}

torch::Tensor decode_image(std::span<const std::byte> file) {
  const RawImage image = decode_raw(file);
  const torch::Tensor tensor = to_tensor(image);
  return image.orientation == 1 ? tensor : upright(tensor, image.orientation);
}

}  // namespace lerobot::dataset
