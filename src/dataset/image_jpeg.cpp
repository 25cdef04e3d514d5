#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>

#include <jerror.h>

#include "image_codecs.hpp"
#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr std::string_view kExifHeader("Exif\0\0", 6);

// libjpeg leaves by longjmp, which skips destructors: the functions that call it hold plain values only, and what it
// works on lives here.
struct JpegReader {
  JpegReader() {
    decoder.err = jpeg_std_error(&errors);
    errors.error_exit = &fail;
    errors.emit_message = &hear;
    decoder.client_data = this;
  }
  ~JpegReader() { jpeg_destroy_decompress(&decoder); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  [[noreturn]] static void fail(j_common_ptr decoder) {
    auto* self = static_cast<JpegReader*>(decoder->client_data);
    decoder->err->format_message(decoder, self->message);
    std::longjmp(self->jump, 1);
  }
  // libjpeg only warns of missing or wrong data and paints grey over it; a training frame should not be guessed.
  static void hear(j_common_ptr decoder, int level) {
    const int code = decoder->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)) fail(decoder);
  }

  jpeg_decompress_struct decoder = {};
  jpeg_error_mgr errors = {};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
};

bool read_header(JpegReader& reader, const unsigned char* data, size_t size) {
  if (setjmp(reader.jump)) return false;
  jpeg_create_decompress(&reader.decoder);
  jpeg_mem_src(&reader.decoder, data, size);
  jpeg_save_markers(&reader.decoder, kExifMarker, 0xFFFF);
  jpeg_read_header(&reader.decoder, TRUE);
  reader.decoder.out_color_space = reader.decoder.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_calc_output_dimensions(&reader.decoder);
  return true;
}

bool read_rows(JpegReader& reader, unsigned char* pixels, size_t row_bytes) {
  if (setjmp(reader.jump)) return false;
  jpeg_start_decompress(&reader.decoder);
  while (reader.decoder.output_scanline < reader.decoder.output_height) {
    JSAMPROW row = pixels + reader.decoder.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.decoder, &row, 1);
  }
  jpeg_finish_decompress(&reader.decoder);
  return true;
}

int orientation_of(const JpegReader& reader) {
  for (jpeg_saved_marker_ptr marker = reader.decoder.marker_list; marker; marker = marker->next) {
    if (marker->marker != kExifMarker || marker->data_length <= kExifHeader.size()) continue;
    if (std::memcmp(marker->data, kExifHeader.data(), kExifHeader.size()) != 0) continue;
    return exif_orientation({marker->data + kExifHeader.size(), marker->data_length - kExifHeader.size()});
  }
  return 1;
}

}  // namespace

RawImage decode_jpeg(std::span<const std::byte> file) {
  JpegReader reader;
  const auto refuse = [&] { throw UsageError(fmt::format("damaged JPEG: {}", reader.message)); };
  if (!read_header(reader, reinterpret_cast<const unsigned char*>(file.data()), file.size())) refuse();
  if (reader.decoder.num_components != 1 && reader.decoder.num_components != 3) {
    throw UsageError("CMYK JPEGs are not supported; convert the dataset's images to RGB");
  }
  RawImage image;
  image.height = reader.decoder.output_height;
  image.width = reader.decoder.output_width;
  image.channels = reader.decoder.output_components;
  image.orientation = orientation_of(reader);  // libjpeg drops the markers when it has read the last row
  const size_t row_bytes = static_cast<size_t>(image.width) * image.channels;
  allocate_pixels(image, row_bytes);
  if (!read_rows(reader, reinterpret_cast<unsigned char*>(image.pixels.data()), row_bytes)) refuse();
  return image;
}

}  // namespace lerobot::dataset
