#pragma once
// A TextPattern is what tokenizers look for in texts: a plain text, or a regular expression. Tokenizers state
// expressions in the syntax of Oniguruma; PCRE2 matches them, after pattern_syntax.h has rewritten what it would
// understand otherwise.
//
//   TextPattern::expression("\\s+").find("ab  c", 0)   {2, 4}

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/diagnostics/error.h"

namespace mtfc {

/// The reason why an expression is not understood.
class PatternError : public Error {
 public:
  using Error::Error;
};

struct PatternMatch {
  size_t begin = 0, end = 0;
};

/// Immutable, and may be used by several threads at once.
class TextPattern {
 public:
  static TextPattern plain(std::string text);
  /// Throws PatternError.
  static TextPattern expression(const std::string& source);

  /// The first match that begins at or after `from`. The text is valid UTF-8. Throws RunError if an expression takes
  /// more steps than PCRE2 permits.
  std::optional<PatternMatch> find(std::string_view text, size_t from) const;

  bool is_expression() const { return code_ != nullptr; }
  /// The text or the expression, as it was given.
  const std::string& source() const { return source_; }

 private:
  struct Code;
  std::string source_;
  std::shared_ptr<const Code> code_;
};

/// Goes through the matches of a pattern, which do not overlap. An empty match directly behind another match is left
/// out, as Oniguruma's users do.
class MatchFinder {
 public:
  MatchFinder(const TextPattern& pattern, std::string_view text) : pattern_(pattern), text_(text) {}
  std::optional<PatternMatch> next();

 private:
  const TextPattern& pattern_;
  std::string_view text_;
  size_t from_ = 0;
  std::optional<size_t> last_end_;
};

/// The text with `content` in place of every match.
std::string replaced(const TextPattern& pattern, std::string_view text, std::string_view content);

}  // namespace mtfc
