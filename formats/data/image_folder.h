#pragma once
// Folders of images, PNG and JPEG: FOLDER/a.png, FOLDER/cat/b.jpg and so on. The images are in the order of their paths
// in the folder; files with other endings, and hidden ones, are passed over.

#include <string>

#include "core/tensors/data.h"
#include "core/tensors/shape.h"

namespace mtfc {

/// All images, as bytes, in the form of an input with these dimensions: [rows, height, width], or with 1 or 3 channels
/// as the last dimension or the second one. Without dimensions, in the form of the first image, with channels last if
/// it has colours. Throws UnreadableFile and RunError, also for an image of another size.
StoredArray read_images(const std::string& folder, const Dims& dims);

/// For each of the same images, the number of the folder that it lies in: those in `folder` are counted from 0, in the
/// order of their names. Throws RunError for an image that lies in none of them.
StoredArray read_image_labels(const std::string& folder);

}  // namespace mtfc
