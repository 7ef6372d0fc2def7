#pragma once
// PNG and JPEG files as bytes, by libpng and libjpeg.

#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/data/data_file.h"

namespace mtfc {

/// Pixels have 1 channel (grey) or 3 (red, green, blue).
struct ImageSize {
  int64_t height = 0, width = 0, channels = 1;
  bool operator==(const ImageSize&) const = default;
  int64_t bytes() const { return height * width * channels; }
};

/// Returns whether the ending of the name is one of .png, .jpg and .jpeg.
bool is_image_name(const std::string& name);

/// The size that the header of an image states. Throws RunError with the file's name for what is no image, or has
/// colours that are not read.
ImageSize image_size(const DataFile& file);

/// Decodes an image of this height and width into `size.bytes()` bytes, row by row with the channels of a pixel
/// together. With 3 channels, a grey image has its values three times. Throws RunError for broken and truncated data.
void decode_image(const DataFile& file, const ImageSize& size, std::byte* to);

}  // namespace mtfc
