#pragma once
// The vocabulary of a tokenizer.json as keys of a GGUF file.

#include <optional>
#include <string>
#include <string_view>

#include "formats/gguf/gguf_header.h"

namespace mtfc {

/// Adds the tokens of a tokenizer.json (`file` in messages) to `header`; tokens that a model with `vocabulary` rows has
/// beyond them are marked as unused. Throws UserError for a tokenizer that llama.cpp has no name for.
void add_tokenizer(std::string_view text, const std::string& file, int64_t vocabulary, GgufHeader& header);

/// Marks a model without a tokenizer, which is used with ids.
void add_no_tokenizer(int64_t vocabulary, const std::string& architecture, GgufHeader& header);

}  // namespace mtfc
