#pragma once
// Tokenizes long texts on several threads. A text is cut between lines where the tokenizer permits it
// (Tokenizer::may_cut_lines()), and the parts are tokenized side by side; otherwise a thread takes a whole text. The
// ids are the same as those of each text as a whole, and arrive in the order of the texts.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "formats/tokenizer/tokenizer.h"

namespace mtfc {

/// The ids of a part of a text.
struct TokenBlock {
  std::vector<int32_t> ids;
  size_t bytes = 0;        // of the text, of which these are the ids
  bool ends_text = false;  // It is the last part of its text.
};

struct TokenizingSettings {
  SpecialTokens special = SpecialTokens::kNone;  // around each text
  size_t threads = 1;
  size_t part_size = 1 << 20;  // in bytes, about
};

/// Passes all blocks to `take`, in order and on this thread. Each text has one or more. An exception of the tokenizer
/// or of `take` ends the work and is thrown again.
void tokenize_texts(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                    const TokenizingSettings& settings, const std::function<void(const TokenBlock&)>& take);

}  // namespace mtfc
