#pragma once
// Tells copies of a file apart without reading all of it: by its length and a hash of its beginning, its end and some
// blocks in between. The length fixes their positions, so that the same parts of all copies are compared.

#include <span>
#include <string>

#include "core/tensors/data.h"

namespace mtfc {

/// The sample of a file with these bytes. It reads at most 66 blocks of 4 KiB.
FileSample sample_of(const std::string& path, std::span<const std::byte> bytes);

}  // namespace mtfc
