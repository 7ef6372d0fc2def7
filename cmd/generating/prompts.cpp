#include "cmd/generating/prompts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "cmd/files/files.h"
#include "core/diagnostics/error.h"
#include "formats/tokenizer/tokenizer_file.h"

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

std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& path) {
  if (path != "-") return read_tokenizer_file(path).tokenizer;
  return std::make_shared<const Tokenizer>(Tokenizer::from_file(read_text(path, "tokenizer"), "<stdin>"));
}

Tokens tokens_of(std::string_view text, const Tokenizer* tokenizer, SpecialTokens special) {
  Tokens tokens;
  if (tokenizer) {
    const std::vector<int32_t> ids = tokenizer->encode(text, special);
    return {ids.begin(), ids.end()};
  }
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

Tokens tokens_to_continue(std::string_view text, const Tokenizer* tokenizer) {
  Tokens tokens = tokens_of(text, tokenizer);
  if (tokenizer)
    tokens.insert(tokens.begin(), tokenizer->ids_before().begin(), tokenizer->ids_before().end());
  return tokens;
}

std::string text_of(const Tokens& tokens, const Tokenizer* tokenizer) {
  if (tokenizer) return tokenizer->decode(std::vector<int32_t>(tokens.begin(), tokens.end()), true);
  std::string text;
  for (const int64_t token : tokens) text += static_cast<char>(token);
  return text;
}

std::string ids_of(const Tokens& tokens) {
  return fmt::format("{}", fmt::join(tokens, ","));
}

}  // namespace mtfc
