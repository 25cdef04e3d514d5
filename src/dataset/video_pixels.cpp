#include "video_pixels.hpp"

#include <fmt/format.h>

#include "lerobot/core/error.hpp"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace lerobot::dataset {
namespace {

constexpr int kPixelAlignment = 64;

}  // namespace

void RgbConverter::prepare(const AVFrame& frame) {
  if (scaler_ && frame.width == width_ && frame.height == height_ && frame.format == format_ &&
      frame.colorspace == colour_space_) {
    return;
  }
  const auto format = static_cast<AVPixelFormat>(frame.format);
  scaler_.reset(sws_getContext(frame.width, frame.height, format, frame.width, frame.height, AV_PIX_FMT_RGB24,
                               SWS_BILINEAR, nullptr, nullptr, nullptr));
  if (!scaler_) {
    const char* name = av_get_pix_fmt_name(format);
    throw RunError(fmt::format("libswscale cannot convert the pixel format {} to RGB", name ? name : "(unknown)"));
  }
  int* inverse_table = nullptr;
  int* table = nullptr;
  int source_range = 0, target_range = 0, brightness = 0, contrast = 0, saturation = 0;
  if (sws_getColorspaceDetails(scaler_.get(), &inverse_table, &source_range, &table, &target_range, &brightness,
                               &contrast, &saturation) >= 0) {
    const int* coefficients = sws_getCoefficients(frame.colorspace);
    sws_setColorspaceDetails(scaler_.get(), coefficients, source_range, coefficients, target_range, brightness,
                             contrast, saturation);
  }
  width_ = frame.width;
  height_ = frame.height;
  format_ = frame.format;
  colour_space_ = frame.colorspace;
  // Without room behind a row libswscale falls back to other code, with other rounding, for the row's last pixels.
  stride_ = 3 * ((width_ + kPixelAlignment - 1) / kPixelAlignment * kPixelAlignment);
  interleaved_.resize(static_cast<size_t>(stride_) * height_);
}

void RgbConverter::convert(const AVFrame& frame, std::span<uint8_t> out) {
  prepare(frame);
  uint8_t* rows[4] = {interleaved_.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {stride_, 0, 0, 0};
  sws_scale(scaler_.get(), frame.data, frame.linesize, 0, height_, rows, strides);
  const int64_t plane = static_cast<int64_t>(width_) * height_;
  for (int64_t row = 0; row < height_; ++row) {
    uint8_t* red = out.data() + row * width_;
    split_rgb(interleaved_.data() + row * stride_, red, red + plane, red + 2 * plane, width_);
  }
}

void split_rgb(const uint8_t* __restrict interleaved, uint8_t* __restrict red, uint8_t* __restrict green,
               uint8_t* __restrict blue, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    red[i] = interleaved[3 * i];
    green[i] = interleaved[3 * i + 1];
    blue[i] = interleaved[3 * i + 2];
  }
}

}  // namespace lerobot::dataset
