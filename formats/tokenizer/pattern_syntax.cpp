#include "formats/tokenizer/pattern_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/text_pattern.h"

namespace mtfc {
namespace {

constexpr std::string_view kSpaces = "\\t-\\r\\x{85}\\p{Z}";
constexpr std::string_view kWords = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
constexpr std::string_view kHexDigits = "0-9a-fA-F";
// Oniguruma's \w has some digits and fractions of Latin-1 where it stands outside of brackets.
constexpr std::string_view kSingleWords =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";

// The classes of POSIX, which are named in brackets.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kPosixClasses = {{
    {"alpha", "\\p{Alphabetic}"},
    {"alnum", "\\p{Alphabetic}\\p{Nd}"},
    {"blank", "\\t\\p{Zs}"},
    {"cntrl", "\\p{Cc}"},
    {"digit", "\\p{Nd}"},
    {"lower", "\\p{Lowercase}"},
    {"punct", "\\p{P}\\p{S}"},
    {"space", kSpaces},
    {"upper", "\\p{Uppercase}"},
    {"word", kWords},
    {"xdigit", kHexDigits},
}};

// Names of properties in Oniguruma, and in PCRE2.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kProperties = {{
    {"Letter", "L"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Punctuation", "P"},
    {"Punct", "P"},
    {"Symbol", "S"},
    {"Separator", "Z"},
    {"Other", "C"},
    {"Alpha", "Alphabetic"},
    {"Upper", "Uppercase"},
    {"Lower", "Lowercase"},
    {"Digit", "Nd"},
    {"Space", "White_Space"},
    {"Any", "Any"},
    {"Emoji", "Emoji"},
}};
// Properties that are neither categories of one or two letters nor scripts.
constexpr std::array<std::string_view, 8> kKeptProperties = {
    "Alphabetic",  "Uppercase", "Lowercase", "White_Space",
    "Ideographic", "Any",       "Emoji",     "Extended_Pictographic"};

class SyntaxRewriter {
 public:
  explicit SyntaxRewriter(std::string_view text) : text_(text) {}

  std::string rewrite() {
    while (at_ < text_.size()) rewrite_next();
    return std::move(result_);
  }

 private:
  // One part of a class in brackets, such as the operands of &&.
  struct ClassPart {
    std::string members;  // in PCRE2's syntax
    bool is_negated = false;
    bool is_open = false;  // && follows
    std::string text() const { return fmt::format("[{}{}]", is_negated ? "^" : "", members); }
  };

  [[noreturn]] void refuse(std::string_view what) const {
    throw PatternError(fmt::format("{} is not supported in regular expressions", what));
  }
  bool has(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }

  void rewrite_next();
  void rewrite_escape();
  void rewrite_group();
  void rewrite_repetition();
  std::string property();
  std::string code_escape();
  std::string escape_in_class();
  std::string_view posix_class();
  std::string bracket_class();
  void add_class_member(ClassPart& part);
  ClassPart class_part();

  std::string_view text_;
  size_t at_ = 0;
  std::string result_;
};

void SyntaxRewriter::rewrite_next() {
  const char c = text_[at_];
  if (c == '\\') return rewrite_escape();
  if (c == '(') return rewrite_group();
  if (c == '{') return rewrite_repetition();
  if (c == '[') {
    result_ += bracket_class();
    return;
  }
  result_ += c;
  ++at_;
}

// \p{Name}, \P{Name} and \p{^Name}.
std::string SyntaxRewriter::property() {
  const size_t open = at_ + 2;
  const size_t close = text_.find('}', at_);
  if (open >= text_.size() || text_[open] != '{' || close == std::string_view::npos) refuse("\\p without {}");
  std::string_view name = text_.substr(open + 1, close - open - 1);
  const bool is_negated = name.starts_with('^');
  if (is_negated) name.remove_prefix(1);
  for (const auto& [foreign, own] : kProperties)
    if (name == foreign) name = own;
  const bool is_script = name.size() > 2 && std::find(kKeptProperties.begin(), kKeptProperties.end(), name) ==
                                                kKeptProperties.end();
  std::string result =
      fmt::format("\\{}{{{}{}{}}}", text_[at_ + 1], is_negated ? "^" : "", is_script ? "sc:" : "", name);
  at_ = close + 1;
  return result;
}

// \uHHHH
std::string SyntaxRewriter::code_escape() {
  const std::string_view digits = text_.substr(std::min(at_ + 2, text_.size())).substr(0, 4);
  const bool is_code = digits.size() == 4 && std::all_of(digits.begin(), digits.end(), [](unsigned char c) {
                         return std::isxdigit(c) != 0;
                       });
  if (!is_code) refuse("\\u without four hexadecimal digits");
  at_ += 6;
  return fmt::format("\\x{{{}}}", digits);
}

void SyntaxRewriter::rewrite_escape() {
  if (at_ + 1 == text_.size()) refuse("a backslash at the end");
  const char c = text_[at_ + 1];
  if (c == 'p' || c == 'P') {
    result_ += property();
    return;
  }
  if (c == 'u') {
    result_ += code_escape();
    return;
  }
  const size_t length = code_point_at(text_, at_ + 1).length;
  switch (c) {
    case 's':
      result_ += fmt::format("[{}]", kSpaces);
      break;
    case 'S':
      result_ += fmt::format("[^{}]", kSpaces);
      break;
    case 'w':
      result_ += fmt::format("[{}]", kSingleWords);
      break;
    case 'W':
      result_ += fmt::format("[^{}]", kSingleWords);
      break;
    case 'h':
      result_ += fmt::format("[{}]", kHexDigits);
      break;
    case 'H':
      result_ += fmt::format("[^{}]", kHexDigits);
      break;
    case 'b':
      result_ += fmt::format("(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))", kSingleWords);
      break;
    case 'B':
      result_ += fmt::format("(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))", kSingleWords);
      break;
    default:
      result_ += text_.substr(at_, 1 + length);
  }
  at_ += 1 + length;
}

// Options of Ruby: m lets the dot match a line feed, which is s elsewhere.
void SyntaxRewriter::rewrite_group() {
  static constexpr std::array<std::string_view, 6> kSame = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"};
  for (const std::string_view same : kSame)
    if (has(same)) {
      result_ += same;
      at_ += same.size();
      return;
    }
  if (!has("(?") || has("(?<")) {
    result_ += '(';
    ++at_;
    return;
  }
  const size_t end = text_.find_first_not_of("imx-", at_ + 2);
  if (end == std::string_view::npos || end == at_ + 2 || (text_[end] != ':' && text_[end] != ')'))
    refuse(fmt::format("'{}'", text_.substr(at_, 4)));
  std::string group(text_.substr(at_, end + 1 - at_));
  std::replace(group.begin(), group.end(), 'm', 's');
  result_ += group;
  at_ = end + 1;
}

// {,n} is {0,n}, and {n}+ is no possessive repetition.
void SyntaxRewriter::rewrite_repetition() {
  const size_t end = text_.find_first_not_of("0123456789,", at_ + 1);
  const bool repeats = end != std::string_view::npos && text_[end] == '}' && end > at_ + 1;
  if (!repeats) {
    result_ += '{';
    ++at_;
    return;
  }
  if (text_.substr(end + 1).starts_with('+')) refuse("{n}+");
  result_ += text_[at_ + 1] == ',' ? "{0" : "{";
  result_ += text_.substr(at_ + 1, end - at_);
  at_ = end + 1;
}

std::string SyntaxRewriter::escape_in_class() {
  if (at_ + 1 == text_.size()) refuse("a backslash at the end");
  const char c = text_[at_ + 1];
  if (c == 'p' || c == 'P') return property();
  if (c == 'u') return code_escape();
  if (c == 'W' || c == 'H') refuse(fmt::format("\\{} in brackets", c));
  const size_t length = 1 + code_point_at(text_, at_ + 1).length;
  const std::string_view same = text_.substr(at_, length);
  at_ += length;
  return std::string(c == 's' ? kSpaces : c == 'w' ? kWords : c == 'h' ? kHexDigits : same);
}

// [:alpha:]
std::string_view SyntaxRewriter::posix_class() {
  const size_t end = std::min(text_.find(":]", at_), text_.size());
  const std::string_view name = text_.substr(at_ + 2, end - std::min(at_ + 2, end));
  for (const auto& [known, members] : kPosixClasses)
    if (name == known) {
      at_ = end + 2;
      return members;
    }
  refuse(fmt::format("[:{}:]", name));
}

void SyntaxRewriter::add_class_member(ClassPart& part) {
  if (text_[at_] == '\\') {
    part.members += escape_in_class();
  } else if (has("[:")) {
    part.members += posix_class();
  } else if (text_[at_] == '[') {
    ++at_;
    const ClassPart inner = class_part();
    if (inner.is_open) refuse("an intersection in inner brackets");
    if (inner.is_negated && (!part.members.empty() || !(has("&&") || has("]"))))
      refuse("the union of a negated class and others");
    if (inner.is_negated) part.is_negated = !part.is_negated;
    part.members += inner.members;
  } else {
    part.members += text_[at_++];
  }
}

// The members up to the closing bracket, behind which it goes. Stops before &&.
SyntaxRewriter::ClassPart SyntaxRewriter::class_part() {
  ClassPart part;
  if (has("^")) {
    part.is_negated = true;
    ++at_;
  }
  if (has("]")) {
    part.members += "\\]";
    ++at_;
  }
  while (true) {
    if (at_ == text_.size()) refuse("[ without ]");
    part.is_open = has("&&");
    if (part.is_open) return part;
    if (has("]")) break;
    add_class_member(part);
  }
  ++at_;
  return part;
}

std::string SyntaxRewriter::bracket_class() {
  ++at_;
  const ClassPart first = class_part();
  if (!has("&&")) return first.text();
  if (first.is_negated) refuse("a negated intersection");
  std::string looks;
  while (has("&&")) {
    at_ += 2;
    looks += fmt::format("(?={})", class_part().text());
  }
  return fmt::format("(?:{}{})", looks, first.text());
}

}  // namespace

std::string pcre2_syntax(std::string_view expression) {
  return SyntaxRewriter(expression).rewrite();
}

size_t end_of_class(std::string_view expression, size_t begin) {
  size_t at = begin + 1;
  if (at < expression.size() && expression[at] == '^') ++at;
  if (at < expression.size() && expression[at] == ']') ++at;
  for (int depth = 1; at < expression.size(); ++at) {
    if (expression[at] == '\\') {
      ++at;
    } else if (expression[at] == '[') {
      ++depth;
    } else if (expression[at] == ']' && --depth == 0) {
      return at + 1;
    }
  }
  throw PatternError("[ without ]");
}

}  // namespace mtfc
