#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "image_codecs.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

// A file in memory as libtiff reads it, and the last thing that libtiff complained about.
struct TiffSource {
  std::span<const std::byte> file;
  toff_t position = 0;
  std::string message = "unreadable";
};

tmsize_t read_bytes(thandle_t handle, void* target, tmsize_t count) {
  auto& source = *static_cast<TiffSource*>(handle);
  const toff_t left = source.position < source.file.size() ? source.file.size() - source.position : 0;
  const auto taken = std::min<toff_t>(left, static_cast<toff_t>(count));
  std::memcpy(target, source.file.data() + source.position, taken);
  source.position += taken;
  return static_cast<tmsize_t>(taken);
}
tmsize_t write_bytes(thandle_t, void*, tmsize_t) {
  return 0;
}
toff_t seek_to(thandle_t handle, toff_t offset, int whence) {
  auto& source = *static_cast<TiffSource*>(handle);
  const toff_t base = whence == SEEK_CUR ? source.position : whence == SEEK_END ? source.file.size() : 0;
  return source.position = base + offset;
}
int close_source(thandle_t) {
  return 0;
}
toff_t size_of(thandle_t handle) {
  return static_cast<TiffSource*>(handle)->file.size();
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffHandle = std::unique_ptr<TIFF, CloseTiff>;

// libtiff 4.5 reports to the reader at hand; older ones only to the whole process, so there they are kept silent.
#if TIFFLIB_VERSION >= 20221213
int hear_error(TIFF*, void* source, const char*, const char* format, va_list arguments) {
  char text[256];
  std::vsnprintf(text, sizeof text, format, arguments);
  static_cast<TiffSource*>(source)->message = text;
  return 1;
}
int hear_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

TiffHandle open_tiff(TiffSource& source) {
  std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                           &TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), &hear_error, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), &hear_warning, nullptr);
  return TiffHandle(TIFFClientOpenExt("image", "rm", &source, read_bytes, write_bytes, seek_to, close_source, size_of,
                                      nullptr, nullptr, options.get()));
}
#else
TiffHandle open_tiff(TiffSource& source) {
  TIFFSetErrorHandler(nullptr);
  TIFFSetWarningHandler(nullptr);
  return TiffHandle(TIFFClientOpen("image", "rm", &source, read_bytes, write_bytes, seek_to, close_source, size_of,
                                   nullptr, nullptr));
}
#endif

template <class Value>
Value field(TIFF* tiff, uint32_t tag) {
  Value value = 0;
  TIFFGetFieldDefaulted(tiff, tag, &value);
  return value;
}

// How the file stores its samples.
struct Layout {
  uint16_t bits, format, channels, photometric;
};

RawImage::Sample sample_of(const Layout& layout) {
  using Sample = RawImage::Sample;
  const bool is_unsigned = layout.format == SAMPLEFORMAT_UINT;
  const bool is_signed = layout.format == SAMPLEFORMAT_INT;
  if (layout.bits == 8 && is_unsigned) return Sample::kU8;
  if (layout.bits == 16 && is_unsigned) return Sample::kU16;
  if (layout.bits == 16 && is_signed && layout.channels == 1) return Sample::kI16;
  if (layout.bits == 32 && layout.channels == 1) {
    if (is_unsigned) return Sample::kU32;
    if (is_signed) return Sample::kI32;
    if (layout.format == SAMPLEFORMAT_IEEEFP) return Sample::kF32;
  }
  throw UsageError(
      fmt::format("TIFFs with {} channel(s) of {} bits (sample format {}) are not supported; accepted are "
                  "8 and 16 bits unsigned, and one channel of 16 or 32 bits integer or 32 bits float",
                  layout.channels, layout.bits, layout.format));
}

Layout check_layout(TIFF* tiff) {
  const Layout layout{field<uint16_t>(tiff, TIFFTAG_BITSPERSAMPLE), field<uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT),
                      field<uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL), field<uint16_t>(tiff, TIFFTAG_PHOTOMETRIC)};
  const bool grey = layout.photometric == PHOTOMETRIC_MINISBLACK;
  const bool rgb = layout.photometric == PHOTOMETRIC_RGB;
  if (TIFFIsTiled(tiff) ||
      (layout.channels > 1 && field<uint16_t>(tiff, TIFFTAG_PLANARCONFIG) != PLANARCONFIG_CONTIG) ||
      !((grey && layout.channels <= 2) || (rgb && (layout.channels == 3 || layout.channels == 4)))) {
    throw UsageError(
        fmt::format("TIFFs that are tiled, in planes, or neither grey nor RGB are not supported (here: "
                    "photometric {}, {} channels)",
                    layout.photometric, layout.channels));
  }
  return layout;
}

}  // namespace

RawImage decode_tiff(std::span<const std::byte> file) {
  TiffSource source{file};
  const TiffHandle tiff = open_tiff(source);
  if (!tiff) throw UsageError(fmt::format("damaged TIFF: {}", source.message));
  const Layout layout = check_layout(tiff.get());

  RawImage image;
  image.height = field<uint32_t>(tiff.get(), TIFFTAG_IMAGELENGTH);
  image.width = field<uint32_t>(tiff.get(), TIFFTAG_IMAGEWIDTH);
  image.channels = layout.channels;
  image.sample = sample_of(layout);
  image.orientation = field<uint16_t>(tiff.get(), TIFFTAG_ORIENTATION);
  const auto row_bytes = static_cast<size_t>(image.width) * layout.channels * (layout.bits / 8);
  if (image.height <= 0 || row_bytes == 0 || static_cast<size_t>(TIFFScanlineSize(tiff.get())) != row_bytes) {
    throw UsageError("damaged TIFF: its size does not fit its rows");
  }
  allocate_pixels(image, row_bytes);
  for (int64_t y = 0; y < image.height; ++y) {
    if (TIFFReadScanline(tiff.get(), image.pixels.data() + y * row_bytes, static_cast<uint32_t>(y)) != 1) {
      throw UsageError(fmt::format("damaged TIFF: {}", source.message));
    }
  }
  return image;
}

}  // namespace lerobot::dataset
