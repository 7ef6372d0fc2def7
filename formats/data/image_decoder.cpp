#include "formats/data/image_decoder.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <cstdio>
#include <string_view>

#include "core/diagnostics/error.h"
#include "core/diagnostics/printable.h"

// libjpeg needs the declarations of stdio before its own.
#include <jpeglib.h>

namespace mtfc {
namespace {

[[noreturn]] void fail_image(const DataFile& file, const std::string& what) {
  throw RunError(fmt::format("{}: {}", file.name, what));
}

bool is_png(const DataFile& file) {
  return file.text().starts_with("\x89PNG\r\n\x1a\n");
}

bool is_jpeg(const DataFile& file) {
  return file.text().starts_with("\xFF\xD8\xFF");
}

// -- PNG --

// Frees what libpng has allocated.
struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

void begin_png(const DataFile& file, PngImage& image) {
  if (!png_image_begin_read_from_memory(&image, file.bytes.data(), file.bytes.size()))
    fail_image(file, fmt::format("broken PNG data ({})", printable(image.message)));
  if (image.format & PNG_FORMAT_FLAG_ALPHA)
    fail_image(file,
               "the image has transparent pixels, which are not read (save it without an alpha channel)");
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16 bits are only rounded to 8
}

ImageSize png_size(const DataFile& file) {
  PngImage image;
  begin_png(file, image);
  return {image.height, image.width, image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1};
}

void decode_png(const DataFile& file, const ImageSize& size, std::byte* to) {
  PngImage image;
  begin_png(file, image);
  image.format = size.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  if (!png_image_finish_read(&image, nullptr, to, 0, nullptr))
    fail_image(file, fmt::format("broken PNG data ({})", printable(image.message)));
}

// -- JPEG --

// The handler takes the errors of libjpeg, which would end the process by default.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

extern "C" {
static void leave_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->manager.format_message(info, errors->message);
  std::longjmp(errors->escape, 1);
}

// A warning means that data are damaged or cut off: libjpeg would make up the rest.
static void note_jpeg(j_common_ptr info, int level) {
  if (level < 0) leave_jpeg(info);
}
}

// Decodes to `to`, or reads the header only if that is null. Returns false, with a message in `errors`, for broken
// data.
// No object with a destructor may live here, as errors jump out of libjpeg.
bool read_jpeg(std::span<const std::byte> bytes, ImageSize* size, std::byte* to, JpegErrors* errors) {
  jpeg_decompress_struct jpeg;
  jpeg.err = jpeg_std_error(&errors->manager);
  errors->manager.error_exit = leave_jpeg;
  errors->manager.emit_message = note_jpeg;
  jpeg_create_decompress(&jpeg);
  if (setjmp(errors->escape) != 0) {
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  if (!to) {
    *size = {jpeg.image_height, jpeg.image_width, jpeg.num_components};
  } else {
    jpeg.out_color_space = size->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      auto* row =
          reinterpret_cast<JSAMPROW>(to + int64_t{jpeg.output_scanline} * size->width * size->channels);
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
  }
  jpeg_destroy_decompress(&jpeg);
  return true;
}

ImageSize jpeg_size(const DataFile& file) {
  ImageSize size;
  JpegErrors errors = {};
  if (!read_jpeg(file.bytes, &size, nullptr, &errors))
    fail_image(file, fmt::format("broken JPEG data ({})", printable(errors.message)));
  if (size.channels != 1 && size.channels != 3)
    fail_image(file,
               fmt::format("the image has {} channels, as for printing, which are not read", size.channels));
  return size;
}

void decode_jpeg(const DataFile& file, ImageSize size, std::byte* to) {
  JpegErrors errors = {};
  if (!read_jpeg(file.bytes, &size, to, &errors))
    fail_image(file, fmt::format("broken JPEG data ({})", printable(errors.message)));
}

}  // namespace

bool is_image_name(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string ending = name.substr(dot);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

ImageSize image_size(const DataFile& file) {
  if (file.bytes.empty()) fail_image(file, "the file is empty");
  if (is_png(file)) return png_size(file);
  if (is_jpeg(file)) return jpeg_size(file);
  fail_image(file, "neither a PNG nor a JPEG image");
}

void decode_image(const DataFile& file, const ImageSize& size, std::byte* to) {
  const ImageSize found = image_size(file);
  check_invariant(found.height == size.height && found.width == size.width && found.channels <= size.channels,
                  "an image has another size than the memory for it");
  is_png(file) ? decode_png(file, size, to) : decode_jpeg(file, size, to);
}

}  // namespace mtfc
