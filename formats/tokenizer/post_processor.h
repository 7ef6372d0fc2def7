#pragma once
// Post-processors put special tokens around the ids of a text, such as one at its beginning.

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/json/cursor.h"

namespace mtfc {

/// The ids around a text. The text itself is there once.
struct SpecialFrame {
  std::vector<int32_t> before, after;
};

/// Reads the object `post_processor` of a tokenizer.json. Mistakes are recorded in the cursor's sink.
SpecialFrame read_post_processor(const Cursor& json);

}  // namespace mtfc
