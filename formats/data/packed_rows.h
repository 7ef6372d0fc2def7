#pragma once
// Documents as rows of tokens: one document a row, filled up with padding, or several that are packed into a row.
// Inputs of a model get views of the same rows.
//
//   documents "ab", "c", "def" (bytes) in packed rows of 4:
//     tokens      a b c 0 | d e f 0
//     segments    1 1 2 0 | 1 1 1 0      0 is padding
//     positions   0 1 0 0 | 0 1 2 0
//     mask        1 1 1 0 | 1 1 1 0      only answers count if the documents have some
//     tokens, shift=1
//                 b 0 0 0 | e f 0 0      the next token of the same document
//     mask, shift=1
//                 1 0 0 0 | 1 1 0 0

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/tensors/data.h"
#include "formats/data/documents.h"

namespace mtfc {

struct NamedTokenizer;

enum class RowPart { kTokens, kMask, kSegments, kPositions };
template <>
inline constexpr auto kEnumNames<RowPart> =
    std::to_array<EnumName<RowPart>>({{RowPart::kTokens, "tokens"},
                                      {RowPart::kMask, "mask"},
                                      {RowPart::kSegments, "segments"},
                                      {RowPart::kPositions, "positions"}});

/// The ways to treat a document with more tokens than a row.
enum class LongDocument { kRefused, kCut, kSplit };

/// The rows of some documents, however they are used.
struct DocumentSource {
  DocumentKind kind = DocumentKind::kLines;
  std::string file = "";       // or a pattern with * and ?
  std::string text = "";       // column or key
  std::string answer = "";     // likewise; "": none
  std::string tokenizer = "";  // "": the usual one
  std::string end = "";        // the token behind each document; "": none
  std::string pad = "0";       // the token that fills rows up
  bool special = false;        // the tokens around each document that the tokenizer states
  bool packs = false;
  LongDocument longer = LongDocument::kRefused;
  int64_t first = 0, last = INT64_MAX;  // of the documents
  int64_t held_out = 0;                 // one in so many is held out, the last ones; 0: none
  bool takes_held_out = false;          // only these are taken

  auto operator<=>(const DocumentSource&) const = default;
};

/// Rows of tokens, one after another.
struct TokenRows {
  std::string file;
  FileSample sample;
  int64_t length = 0;
  int32_t pad = 0;
  std::vector<int32_t> tokens;
  std::vector<int32_t> segments;  // in each row from 1 on; 0 for padding
  std::vector<uint8_t> counts;    // 1 for what is neither padding nor a prompt
};

/// Makes the rows of `length` tokens. A null `tokenizer` stands for bytes. Throws UserError for a document that is too
/// long and for tokens that there are not, RunError and UnreadableFile.
TokenRows make_rows(const DocumentSource& source, const NamedTokenizer* tokenizer, int64_t length);

/// A part of the rows, as an array of [rows, length]: at each place, that of the token which follows `shift` tokens
/// later in the same document, and padding if there is none.
StoredArray view_of(const TokenRows& rows, RowPart part, int64_t shift);

/// The same part for other rows of tokens, each of which is a document without padding; `shape` is theirs. Not for
/// kTokens.
StoredArray view_of_whole_rows(const std::string& input, RowPart part, const std::vector<int64_t>& shape);

}  // namespace mtfc
