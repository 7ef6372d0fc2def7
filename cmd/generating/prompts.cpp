#include "cmd/generating/prompts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "core/diagnostics/error.h"

namespace mtfc {

Tokens parse_tokens(std::string_view text, const std::string& option) {
  Tokens tokens;
  while (true) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
    int64_t token = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token);
    if (error != std::errc() || token < 0)
      throw UserError(fmt::format("{}: expected a token id, found '{}'", option,
                                  text.substr(0, std::min(text.find(','), text.size()))),
                      "ids are whole numbers with commas between, as in 12,7,300");
    tokens.push_back(token);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
    if (text.empty()) return tokens;
    if (text.front() != ',')
      throw UserError(fmt::format("{}: expected ',' after {}, found '{}'", option, token, text),
                      "ids are whole numbers with commas between, as in 12,7,300");
    text.remove_prefix(1);
  }
}

Tokens tokens_of(std::string_view text) {
  Tokens tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string text_of(const Tokens& tokens, bool as_bytes) {
  if (!as_bytes) return fmt::format("{}", fmt::join(tokens, ","));
  std::string text;
  for (const int64_t token : tokens) text += static_cast<char>(token);
  return text;
}

}  // namespace mtfc
