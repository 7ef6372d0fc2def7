#include "formats/tokenizer/line_starts.h"

#include <algorithm>
#include <cctype>

#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/pattern_syntax.h"

namespace mtfc {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// The facts about the matches of a part of an expression that matter here.
struct Matches {
  bool may_be_empty = true;
  bool begins_with_letter = false;
  bool ends_with_line_feed = false;
  bool has_both = false;  // A line feed followed by a letter.
  bool looks = false;     // It has an assertion.
};

Matches in_sequence(const Matches& a, const Matches& b) {
  return {.may_be_empty = a.may_be_empty && b.may_be_empty,
          .begins_with_letter = a.begins_with_letter || (a.may_be_empty && b.begins_with_letter),
          .ends_with_line_feed = b.ends_with_line_feed || (b.may_be_empty && a.ends_with_line_feed),
          .has_both = a.has_both || b.has_both || (a.ends_with_line_feed && b.begins_with_letter),
          .looks = a.looks || b.looks};
}

Matches either(const Matches& a, const Matches& b) {
  return {.may_be_empty = a.may_be_empty || b.may_be_empty,
          .begins_with_letter = a.begins_with_letter || b.begins_with_letter,
          .ends_with_line_feed = a.ends_with_line_feed || b.ends_with_line_feed,
          .has_both = a.has_both || b.has_both,
          .looks = a.looks || b.looks};
}

// Thrown at what is not understood.
struct NotUnderstood {};

class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view text) : text_(text) {}

  Matches read() {
    const Matches all = alternatives();
    if (at_ < text_.size()) throw NotUnderstood();
    return all;
  }

 private:
  bool has(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }

  Matches alternatives() {
    Matches all = sequence();
    while (has("|")) {
      ++at_;
      all = either(all, sequence());
    }
    return all;
  }

  Matches sequence() {
    Matches all;
    while (at_ < text_.size() && !has("|") && !has(")")) all = in_sequence(all, repeated());
    return all;
  }

  // An atom with what says how often it is there.
  Matches repeated() {
    Matches one = atom();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '?' || c == '*') {
        one.may_be_empty = true;
      } else if (c == '{') {
        const size_t close = text_.find_first_not_of("0123456789,", at_ + 1);
        if (close == std::string_view::npos || text_[close] != '}') throw NotUnderstood();
        const char least = text_[at_ + 1];
        if (least == ',' || least == '0') one.may_be_empty = true;
        at_ = close;
      } else if (c != '+') {
        break;
      }
      if (c != '?') one = in_sequence(one, one);
      ++at_;
      // A possessive repetition takes back nothing, so that it may fail where another one matches.
      if (has("+")) throw NotUnderstood();
    }
    return one;
  }

  Matches atom() {
    if (has("(?!\\S)")) {
      at_ += 6;
      return {.looks = true};
    }
    if (has("(")) return group();
    const size_t begin = at_;
    if (has("["))
      at_ = end_of_class(text_, at_);
    else if (has("\\"))
      skip_escape();
    else if (has("^") || has("$") || has("*") || has("+") || has("?"))
      throw NotUnderstood();
    else
      at_ += code_point_at(text_, at_).length;
    return matches_of(std::string(text_.substr(begin, at_ - begin)));
  }

  Matches group() {
    at_ += has("(?:") ? 3 : has("(?i:") ? 4 : 1;
    if (has("?")) throw NotUnderstood();
    const Matches inner = alternatives();
    if (!has(")")) throw NotUnderstood();
    ++at_;
    return inner;
  }

  // Only escapes that stand for one character.
  void skip_escape() {
    static constexpr std::string_view kClasses = "sSwWdDhHnrtfv";
    if (at_ + 1 >= text_.size()) throw NotUnderstood();
    const char c = text_[at_ + 1];
    if (c == 'p' || c == 'P') {
      const size_t close = text_.find('}', at_);
      if (close == std::string_view::npos) throw NotUnderstood();
      at_ = close + 1;
    } else if (std::isalnum(static_cast<unsigned char>(c)) == 0 ||
               kClasses.find(c) != std::string_view::npos) {
      at_ += 1 + code_point_at(text_, at_ + 1).length;
    } else {
      throw NotUnderstood();
    }
  }

  // One character, in either case.
  static Matches matches_of(const std::string& atom) {
    const TextPattern pattern = TextPattern::expression("(?i:" + atom + ")");
    return {.may_be_empty = false,
            .begins_with_letter = pattern.find(kLetters, 0).has_value(),
            .ends_with_line_feed = pattern.find("\n", 0).has_value()};
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The alternatives of an expression that are in no group.
std::vector<std::string> branches(const std::string& text) {
  std::vector<std::string> found(1);
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '\\') end = std::min(at + 2, text.size());
    if (text[at] == '[') end = end_of_class(text, at);
    if (text[at] == '(') ++depth;
    if (text[at] == ')') --depth;
    if (text[at] == '|' && depth == 0)
      found.emplace_back();
    else
      found.back() += text.substr(at, end - at);
    at = end;
  }
  return found;
}

// A match begins at every letter that no earlier match contains: some branch matches it whatever follows.
bool matches_every_letter(const std::string& expression) {
  std::vector<TextPattern> sure;
  for (const std::string& branch : branches(expression))
    if (!ExpressionReader(branch).read().looks)
      sure.push_back(TextPattern::expression("\\A(?:" + branch + ")\\z"));
  return std::all_of(kLetters.begin(), kLetters.end(), [&](char letter) {
    const std::string_view text(&letter, 1);
    return std::any_of(sure.begin(), sure.end(),
                       [&](const TextPattern& branch) { return branch.find(text, 0).has_value(); });
  });
}

}  // namespace

LineStarts line_starts_of(const TextPattern& pattern) {
  if (!pattern.is_expression()) return {.are_kept = pattern.source().find('\n') == std::string::npos};
  try {
    const Matches all = ExpressionReader(pattern.source()).read();
    if (all.has_both || all.may_be_empty) return {};
    return {.are_kept = true, .are_words = matches_every_letter(pattern.source())};
  } catch (const NotUnderstood&) {
    return {};
  } catch (const PatternError&) {
    return {};
  }
}

}  // namespace mtfc
