#pragma once
// Normalizers change a text before it is cut into words: they compose characters, remove accents, replace blanks.
//
//   Sequence of Prepend ▁ and Replace ' ' by ▁     "a b"  ->  "▁a▁b"

#include <memory>
#include <string>

namespace mtfc {

class Cursor;

/// A text between added tokens.
struct SectionText {
  std::string text;
  /// Its first character comes from the first one of the whole text.
  bool is_first = true;
  /// It continues a text that is not here, so that nothing is put in front of it.
  bool continues = false;
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(SectionText& section) const = 0;
  /// True if a text may be cut between a line feed and an ASCII letter: both stay what they are, and each of the parts
  /// becomes the same alone, the second one as a text that continues.
  virtual bool keeps_line_starts() const { return false; }
  /// True if something is put in front of each section.
  virtual bool prepends() const { return false; }
};

/// Reads the object `normalizer` of a tokenizer.json. Records mistakes in the cursor's sink, and returns nullptr then.
std::unique_ptr<Normalizer> read_normalizer(const Cursor& json);

}  // namespace mtfc
