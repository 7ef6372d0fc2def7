#pragma once
// The key `pattern` of components: {"String": " "}, or {"Regex": "\\s+"}.

#include <optional>

#include "formats/json/cursor.h"
#include "formats/tokenizer/text_pattern.h"

namespace mtfc {

/// Records mistakes in the sink of `component`, which has the key, and returns nothing then.
std::optional<TextPattern> read_pattern(const Cursor& component);

}  // namespace mtfc
