#include "formats/tokenizer/words.h"

#include <algorithm>

namespace mtfc {
namespace {

void append(std::vector<WordSpan>& spans, WordSpan span) {
  if (span.begin < span.end) spans.push_back(span);
}

// Each piece for which `joins(piece, before)` is true becomes one word with the piece before it.
template <typename Pieces, typename Joins>
std::vector<WordSpan> joined(const Pieces& begin, const Pieces& end, Joins joins) {
  std::vector<WordSpan> spans;
  bool was_match = false;
  for (auto piece = begin; piece != end; ++piece) {
    if (!spans.empty() && joins(piece->is_match, was_match))
      spans.back() = {std::min(spans.back().begin, piece->begin), std::max(spans.back().end, piece->end)};
    else
      spans.push_back({piece->begin, piece->end});
    was_match = piece->is_match;
  }
  return spans;
}

}  // namespace

void append_split(std::vector<WordSpan>& spans, const std::vector<WordPiece>& pieces, SplitBehavior behavior,
                  size_t offset) {
  const auto joins_match = [](bool is_match, bool was_match) { return is_match && !was_match; };
  const auto joins_same = [](bool is_match, bool was_match) { return is_match == was_match; };
  std::vector<WordSpan> merged;
  switch (behavior) {
    case SplitBehavior::kRemoved:
    case SplitBehavior::kIsolated:
      for (const WordPiece& piece : pieces)
        if (behavior == SplitBehavior::kIsolated || !piece.is_match)
          append(spans, {offset + piece.begin, offset + piece.end});
      return;
    case SplitBehavior::kMergedWithPrevious:
      merged = joined(pieces.begin(), pieces.end(), joins_match);
      break;
    case SplitBehavior::kMergedWithNext:
      merged = joined(pieces.rbegin(), pieces.rend(), joins_match);
      std::reverse(merged.begin(), merged.end());
      break;
    case SplitBehavior::kContiguous:
      merged = joined(pieces.begin(), pieces.end(), joins_same);
      break;
  }
  for (const WordSpan& span : merged) append(spans, {offset + span.begin, offset + span.end});
}

}  // namespace mtfc
