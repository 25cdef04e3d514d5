#include <fmt/format.h>
#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstring>

#include "image_codecs.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

// libpng leaves by longjmp, which skips destructors: the functions that call it hold plain values only, and what it
// works on lives here.
struct PngReader {
  explicit PngReader(std::span<const std::byte> file) : rest(file) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &fail, &ignore_warning);
    info = png ? png_create_info_struct(png) : nullptr;
    if (!info) throw RunError("libpng could not be started (out of memory)");
    png_set_read_fn(png, this, &supply);
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  [[noreturn]] static void fail(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->message, message, sizeof self->message - 1);
    png_longjmp(png, 1);
  }
  static void ignore_warning(png_structp, png_const_charp) {}
  static void supply(png_structp png, png_bytep target, size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->rest.size()) png_error(png, "the file ends early");
    std::memcpy(target, self->rest.data(), count);
    self->rest = self->rest.subspan(count);
  }

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  char message[256] = {};
};

// Reads up to the pixels and settles their form: 8 bits, or 16 bits for a single grey channel.
bool read_header(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_info(reader.png, reader.info);
  const png_byte colour = png_get_color_type(reader.png, reader.info);
  const png_byte depth = png_get_bit_depth(reader.png, reader.info);
  if (colour == PNG_COLOR_TYPE_PALETTE) {
    png_set_palette_to_rgb(reader.png);
    png_set_strip_alpha(reader.png);
  }
  if (colour == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(reader.png);
  if (depth == 16) {
    if (colour != PNG_COLOR_TYPE_GRAY) {
      png_set_strip_16(reader.png);
    } else if (std::endian::native == std::endian::little) {
      png_set_swap(reader.png);
    }
  }
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_rows(PngReader& reader, png_bytep* rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, reader.info);
  return true;
}

int orientation_of(PngReader& reader) {
#ifdef PNG_eXIf_SUPPORTED
  png_uint_32 size = 0;
  png_bytep block = nullptr;
  if (png_get_eXIf_1(reader.png, reader.info, &size, &block) != 0 && block) return exif_orientation({block, size});
#endif
  return 1;
}

}  // namespace

RawImage decode_png(std::span<const std::byte> file) {
  PngReader reader(file);
  const auto refuse = [&] { throw UsageError(fmt::format("damaged PNG: {}", reader.message)); };
  if (!read_header(reader)) refuse();

  RawImage image;
  image.height = png_get_image_height(reader.png, reader.info);
  image.width = png_get_image_width(reader.png, reader.info);
  image.channels = png_get_channels(reader.png, reader.info);
  image.sample = png_get_bit_depth(reader.png, reader.info) == 16 ? RawImage::Sample::kU16 : RawImage::Sample::kU8;
  const size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  allocate_pixels(image, row_bytes);
  std::vector<png_bytep> rows(image.height);
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = reinterpret_cast<png_bytep>(image.pixels.data() + y * row_bytes);
  if (!read_rows(reader, rows.data())) refuse();
  image.orientation = orientation_of(reader);
  return image;
}

}  // namespace lerobot::dataset
