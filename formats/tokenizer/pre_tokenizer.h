#pragma once
// Pre-tokenizers cut a text into words, each of which the model tokenizes by itself.
//
//   ByteLevel   "Hello world"  ->  Hello, Ġworld

#include <memory>

#include "formats/tokenizer/words.h"

namespace mtfc {

class Cursor;

/// The effects of a cut between a line feed and an ASCII letter on a text.
struct LineStarts {
  /// The words are the same, if the first part is followed by that letter and the second part continues; except that a
  /// word which is not in a match of any pattern may be cut.
  bool are_kept = false;
  /// A word begins at the letter in any case.
  bool are_words = false;
  /// The next step does not see the letter as it is.
  bool are_changed = false;
  /// Something is put in front of words. That is right only in the first step, before which there is one word.
  bool prepends = false;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Words& words) const = 0;
  virtual LineStarts line_starts() const { return {}; }
};

/// Reads the object `pre_tokenizer` of a tokenizer.json. Records mistakes in the cursor's sink; returns nullptr then.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Cursor& json);

}  // namespace mtfc
