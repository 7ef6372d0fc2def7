#include "formats/data/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "core/diagnostics/error.h"
#include "core/tensors/random_bits.h"
#include "formats/data/data_file.h"
#include "formats/data/image_decoder.h"
#include "formats/json/mapped_file.h"

namespace mtfc {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

[[noreturn]] void fail_folder(const std::string& folder, const std::error_code& error) {
  throw UnreadableFile(folder, error.message(),
                       error == std::errc::no_such_file_or_directory ? similar_file(folder) : "");
}

// The paths of all images, relative to the folder and in order.
std::vector<std::string> images_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> images;
  const fs::path base = fs::path(folder).has_filename() ? fs::path(folder) : fs::path(folder).parent_path();
  fs::recursive_directory_iterator at(base, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (is_hidden(at->path())) {
      at.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;
    if (at->is_regular_file(ignored) && is_image_name(at->path().filename().string()))
      images.push_back(at->path().lexically_relative(base).string());
  }
  if (error) fail_folder(folder, error);
  if (images.empty()) throw RunError(folder + ": the folder has no images (.png, .jpg, .jpeg)");
  std::sort(images.begin(), images.end());
  return images;
}

// The form of all images in memory.
struct ImageForm {
  ImageSize size;
  bool has_channels = false;        // a dimension for them
  bool are_channels_first = false;  // before height and width
  bool is_of_input = false;         // and not that of the first image

  std::vector<int64_t> shape(int64_t images) const {
    if (!has_channels) return {images, size.height, size.width};
    if (are_channels_first) return {images, size.channels, size.height, size.width};
    return {images, size.height, size.width, size.channels};
  }
};

bool can_be_channels(int64_t size) {
  return size == 1 || size == 3;
}

// The form that an input wants, if its dimensions are those of images.
std::optional<ImageForm> form_of(const Dims& dims) {
  if (dims.size() == 3) return ImageForm{{dims[1].size, dims[2].size, 1}, false, false, true};
  if (dims.size() != 4) return std::nullopt;
  if (can_be_channels(dims[3].size))
    return ImageForm{{dims[1].size, dims[2].size, dims[3].size}, true, false, true};
  if (can_be_channels(dims[1].size))
    return ImageForm{{dims[2].size, dims[3].size, dims[1].size}, true, true, true};
  return std::nullopt;
}

std::string text_of(const ImageSize& size) {
  return fmt::format("{} x {} pixels", size.width, size.height);
}

void require_fit(const DataFile& file, const ImageForm& form, const std::string& first) {
  const ImageSize found = image_size(file), &wanted = form.size;
  const std::string whose = form.is_of_input ? "the input" : first;
  if (found.height != wanted.height || found.width != wanted.width)
    throw RunError(fmt::format(
        "{}: the image has {}, but {} has {} (images are not scaled: bring all of them to one size first)",
        file.name, text_of(found), whose, text_of(wanted)));
  if (found.channels > wanted.channels)
    throw RunError(
        fmt::format("{}: the image has colours, but {} has not (convert it to grey, or give the input a "
                    "dimension of 3 channels)",
                    file.name, whose));
}

// Writes an image with its channels one after another.
void write_channels_first(const std::vector<std::byte>& image, const ImageSize& size, std::byte* to) {
  const int64_t pixels = size.height * size.width;
  for (int64_t i = 0; i < pixels; ++i)
    for (int64_t c = 0; c < size.channels; ++c)
      to[c * pixels + i] = image[static_cast<size_t>(i * size.channels + c)];
}

std::shared_ptr<std::byte[]> memory_for(const ImageSize& size, size_t images, const std::string& folder) {
  const uint64_t bytes = static_cast<uint64_t>(size.bytes()) * images;
  require_memory(bytes, folder);
  try {
    return std::shared_ptr<std::byte[]>(new std::byte[bytes]);
  } catch (const std::bad_alloc&) {
    throw RunError(folder + ": there is too little memory for the images");
  }
}

void add_to(FileSample& sample, const FileSample& file) {
  sample.bytes += file.bytes;
  sample.hash = mixed(sample.hash ^ file.hash ^ hash_bytes(file.path));
}

}  // namespace

StoredArray read_images(const std::string& folder, const Dims& dims) {
  const std::vector<std::string> images = images_in(folder);
  std::optional<ImageForm> form = form_of(dims);
  std::shared_ptr<std::byte[]> pixels;
  StoredArray array{folder, StoredType::kU8, false, {}, nullptr, nullptr, {folder, 0, 0}};
  std::vector<std::byte> image;
  for (size_t i = 0; i < images.size(); ++i) {
    const DataFile file = open_data_file((fs::path(folder) / images[i]).string());
    if (!form) {
      const ImageSize size = image_size(file);
      form = ImageForm{size, size.channels > 1};
    }
    require_fit(file, *form, images.front());
    const int64_t bytes = form->size.bytes();
    if (!pixels) {
      pixels = memory_for(form->size, images.size(), folder);
    }
    std::byte* to = pixels.get() + static_cast<int64_t>(i) * bytes;
    if (form->are_channels_first) {
      image.resize(static_cast<size_t>(bytes));
      decode_image(file, form->size, image.data());
      write_channels_first(image, form->size, to);
    } else {
      decode_image(file, form->size, to);
    }
    add_to(array.sample, file.sample);
  }
  array.shape = form->shape(static_cast<int64_t>(images.size()));
  array.data = pixels.get();
  array.owner = pixels;
  return array;
}

StoredArray read_image_labels(const std::string& folder) {
  std::vector<std::string> classes;
  const std::vector<std::string> images = images_in(folder);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !is_hidden(entry.path())) classes.push_back(entry.path().filename().string());
  std::sort(classes.begin(), classes.end());
  const auto labels = std::make_shared<std::vector<int32_t>>();
  StoredArray array{folder, StoredType::kI32, false, {}, labels, nullptr, {folder, 0, 0}};
  for (const std::string& image : images) {
    const std::string first = fs::path(image).begin()->string();
    const auto at = std::lower_bound(classes.begin(), classes.end(), first);
    if (at == classes.end() || *at != first)
      throw RunError(fmt::format("{}: the image '{}' is in no folder of its own kind, so it has no label",
                                 folder, image));
    labels->push_back(static_cast<int32_t>(at - classes.begin()));
    array.sample.bytes += static_cast<int64_t>(image.size());
    array.sample.hash = mixed(array.sample.hash ^ hash_bytes(image));
  }
  array.shape = {static_cast<int64_t>(labels->size())};
  array.data = reinterpret_cast<const std::byte*>(labels->data());
  return array;
}

}  // namespace mtfc
