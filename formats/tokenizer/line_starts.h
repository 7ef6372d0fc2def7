#pragma once
// Finds out whether a text may be cut between a line feed and an ASCII letter without a change of the matches of a
// pattern: none of them contains both. This is decided from the expression, which must consist of characters, classes,
// groups, alternatives and repetitions; the only assertion that is understood is (?!\S), which looks no further than
// that letter.
//
//   \s*[\r\n]+|[^\r\n\p{L}]?\p{L}+     are_kept: no line feed is followed by a letter
//                                      are_words: \p{L}+ matches a letter

#include "formats/tokenizer/pre_tokenizer.h"
#include "formats/tokenizer/text_pattern.h"

namespace mtfc {

LineStarts line_starts_of(const TextPattern& pattern);

}  // namespace mtfc
