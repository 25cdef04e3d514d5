// Decoded frames to planar RGB, bit for bit as libswscale's default conversion to rgb24 gives it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ffmpeg.hpp"

namespace lerobot::dataset {

// Keeps the scaler of the last format seen. Not thread-safe.
class RgbConverter {
 public:
  // `out`: 3 x frame.height x frame.width. The matrix is the frame's colour space (unspecified: BT.601); the range is
  // full for the pixel formats that imply it, as torchcodec, LeRobot's default decoder, has it.
  // Throws RunError when libswscale cannot read the pixel format.
  void convert(const AVFrame& frame, std::span<uint8_t> out);

 private:
  void prepare(const AVFrame& frame);

  ffmpeg::Scaler scaler_;
  int width_ = 0, height_ = 0, format_ = AV_PIX_FMT_NONE, colour_space_ = AVCOL_SPC_UNSPECIFIED;
  int stride_ = 0;                    // bytes a row of interleaved_, with room for whole vectors of pixels
  std::vector<uint8_t> interleaved_;  // height rows of width x 3
};

// One row of `width` RGB pixels into three rows.
void split_rgb(const uint8_t* interleaved, uint8_t* red, uint8_t* green, uint8_t* blue, int64_t width);

}  // namespace lerobot::dataset
