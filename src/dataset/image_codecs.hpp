// One function a file format, each behind the same plain pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lerobot::dataset {

// Rows of height x width x channels, interleaved, native byte order, no padding.
struct RawImage {
  enum class Sample { kU8, kU16, kI16, kU32, kI32, kF32 };

  int64_t height = 0, width = 0, channels = 0;
  Sample sample = Sample::kU8;
  std::vector<std::byte> pixels;
  int orientation = 1;  // EXIF: 1 upright, 2..8 mirrored and turned
};

// All throw UsageError without the name of the file, which they do not know.
RawImage decode_png(std::span<const std::byte> file);
RawImage decode_jpeg(std::span<const std::byte> file);
RawImage decode_tiff(std::span<const std::byte> file);

// Makes room for the pixels. Throws UsageError for a size that only a damaged header can ask for (over 512 MiB).
void allocate_pixels(RawImage& image, size_t row_bytes);

// The orientation of an EXIF block (a small TIFF structure without the "Exif\0\0" in front); 1 when it has none.
int exif_orientation(std::span<const uint8_t> block);

}  // namespace lerobot::dataset
