// Decoding of the image files that a dataset's Parquet columns carry.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <span>

namespace lerobot::dataset {

// Decodes a whole PNG, JPEG or TIFF file held in memory into a float32 tensor [C, H, W].
//   8 bits a sample   u8 / 255, in [0, 1]: grey [1, H, W], grey with alpha [2, H, W], RGB [3, H, W], RGBA [4, H, W];
//                     palettes are expanded; 1, 2 and 4 bits grey are widened to 8
//   16 bits, 1 channel, and float or 32-bit integer TIFF (depth maps): the stored value, unscaled, [1, H, W]
//   16 bits, 2 to 4 channels: the high byte of each sample / 255, as Pillow reads them
// JPEG samples equal libjpeg's default (integer DCT, smooth chroma upsampling). An EXIF orientation is applied.
// Throws UsageError saying what is wrong: an unknown format (with its first bytes), a damaged file, a kind of image
// that is not supported. The caller adds which frame it was.
torch::Tensor decode_image(std::span<const std::byte> file);

}  // namespace lerobot::dataset
