#include "formats/json/json_mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mtfc {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns nlohmann's message without its prefix, position and copy of the input.
std::string plain(std::string_view said) {
  std::string what(said);
  const size_t colon = what.find("while parsing");
  const size_t dash = what.find(" - ", colon == std::string::npos ? 0 : colon);
  if (dash == std::string::npos) return "something is wrong here";
  what.erase(0, dash + 3);
  what.erase(std::min(what.find("; last read"), what.size()));
  if (const size_t at = what.find("; expected '[', '{', or a literal"); at != std::string::npos)
    what.replace(at, std::string::npos, ", expected a value");
  if (const size_t at = what.find("; expected string literal"); at != std::string::npos)
    what.replace(at, std::string::npos, ", expected a key in quotes");
  if (const size_t at = what.find("; expected"); at != std::string::npos) what.replace(at, 1, ",");
  return what;
}

// Syntax that people write but JSON doesn't have.
std::string foreign_syntax(std::string_view rest) {
  for (const char* quote : {"\u201c", "\u201d", "\u201e", "\u2018", "\u2019"})
    if (rest.starts_with(quote)) return "these quotes are curly; JSON's are straight: \"";
  for (const auto& [word, advice] : {std::pair("//", "JSON has no comments; a key \"doc\" holds text"),
                                     {"/*", "JSON has no comments; a key \"doc\" holds text"},
                                     {"#", "JSON has no comments; a key \"doc\" holds text"},
                                     {"'", "strings and keys must be in double quotes"},
                                     {"True", "JSON spells it true"},
                                     {"False", "JSON spells it false"},
                                     {"None", "JSON spells it null"},
                                     {"NaN", "JSON has no such number"},
                                     {"Infinity", "JSON has no such number"},
                                     {"-Infinity", "JSON has no such number"},
                                     {".", "a number starts with a digit"},
                                     {"+", "a number has no leading '+'"}})
    if (rest.starts_with(word)) return advice;
  return "";
}

std::string in_string(const std::string& message, JsonMistake& mistake) {
  if (message.find("missing closing quote") != std::string::npos)
    return "the string is not closed: '\"' is missing";
  if (message.find("U+000A") != std::string::npos || message.find("U+000D") != std::string::npos)
    return "the string is not closed in its line: '\"' is missing";
  mistake.inside_string = true;
  if (message.find("UTF-8") != std::string::npos)
    return "the text is not UTF-8; save the file in that encoding";
  return message;
}

// Names the missing character if the text is otherwise right.
std::string missing(const std::string& message, std::string_view rest, char before) {
  const auto says = [&](const char* part) { return message.find(part) != std::string::npos; };
  const bool ends = says("unexpected end of input");
  if (ends && says(", expected '}'")) return "the file ends before an object does: '}' is missing";
  if (ends && says(", expected ']'")) return "the file ends before a list does: ']' is missing";
  if (ends) return "the file ends in the middle: " + message.substr(message.find("expected ", 11));
  const bool closes = rest.starts_with("}") || rest.starts_with("]");
  if (closes && before == ',') return "a comma with nothing after it";
  if (says(", expected ':'")) return "':' is missing after the key";
  const bool in_container = says(", expected '}'") || says(", expected ']'");
  if (in_container && !closes && !rest.starts_with(":")) return "',' is missing before this";
  return "";
}

}  // namespace

std::string describe(JsonMistake& mistake) {
  const std::string message = plain(mistake.said);
  const std::string_view rest = mistake.rest;
  if (message.find("invalid string") != std::string::npos) return in_string(message, mistake);
  if (message.find("invalid literal") != std::string::npos) {
    const std::string foreign = foreign_syntax(rest);
    if (!foreign.empty()) return foreign;
    if (mistake.after_value) return "something follows the end of the value";
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_word);
    if (end != rest.begin())
      return fmt::format("'{}' needs quotes; only numbers, true, false and null go without",
                         std::string(rest.begin(), end));
  }
  const std::string absent = missing(message, rest, mistake.before);
  return absent.empty() ? message : absent;
}

bool is_binary(std::string_view text) {
  constexpr size_t kLooked = 512;
  return std::any_of(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), kLooked)),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 && !(c >= '\t' && c <= '\r'); });
}

}  // namespace mtfc
