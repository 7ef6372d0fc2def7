#pragma once
// Words: what a pre-tokenizer makes of a text, and the model tokenizes one by one. They are spans of a text, so that
// most steps of pre-tokenizers copy nothing.
//
//   text  "ab, c"   split at blanks, which are removed      {0, 3} {4, 5}
//                   then at punctuation, which is isolated  {0, 2} {2, 3} {4, 5}

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/enum_names.h"

namespace mtfc {

struct WordSpan {
  size_t begin = 0, end = 0;
};

struct Words {
  std::string text;
  std::vector<WordSpan> spans;  // in order, without overlap, none empty
  /// The first span begins where the whole text begins.
  bool is_first = true;
  /// The first span continues a text that is not here, so that nothing is put in front of it.
  bool continues = false;

  std::string_view word(size_t index) const {
    return std::string_view(text).substr(spans[index].begin, spans[index].end - spans[index].begin);
  }
};

/// The ways to treat the matches at which words are split.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
template <>
inline constexpr auto kEnumNames<SplitBehavior> =
    std::to_array<EnumName<SplitBehavior>>({{SplitBehavior::kRemoved, "Removed"},
                                            {SplitBehavior::kIsolated, "Isolated"},
                                            {SplitBehavior::kMergedWithPrevious, "MergedWithPrevious"},
                                            {SplitBehavior::kMergedWithNext, "MergedWithNext"},
                                            {SplitBehavior::kContiguous, "Contiguous"}});

/// A piece of a word: a match, or what lies between two of them.
struct WordPiece {
  size_t begin = 0, end = 0;
  bool is_match = false;
};

/// Appends the words that the pieces of a word become, which are in order and have no gaps. They lie at `offset`.
void append_split(std::vector<WordSpan>& spans, const std::vector<WordPiece>& pieces, SplitBehavior behavior,
                  size_t offset);

/// Splits all words. `find_pieces(word, pieces)` appends the pieces of a word, which is a string_view.
template <typename FindPieces>
void split_words(Words& words, SplitBehavior behavior, FindPieces find_pieces) {
  std::vector<WordSpan> spans;
  spans.reserve(words.spans.size());
  std::vector<WordPiece> pieces;
  const bool begins = !words.spans.empty() && words.spans[0].begin == 0;
  for (size_t i = 0; i < words.spans.size(); ++i) {
    pieces.clear();
    find_pieces(words.word(i), pieces);
    append_split(spans, pieces, behavior, words.spans[i].begin);
  }
  words.spans = std::move(spans);
  if (begins && (words.spans.empty() || words.spans[0].begin > 0)) words.is_first = words.continues = false;
}

}  // namespace mtfc
