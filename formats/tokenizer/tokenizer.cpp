#include "formats/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/error.h"
#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/tokenizer_rules.h"

namespace mtfc {
namespace {

// A message of protocol buffers begins with a byte for its first field, which is 10 here, and a length. JSON has no
// such characters but white space.
bool looks_like_sentencepiece(std::string_view bytes) {
  const size_t at = bytes.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && static_cast<unsigned char>(bytes[at]) < ' ';
}

}  // namespace

std::string TokenizerRules::known_token(int32_t id) const {
  std::optional<std::string> text = token(id);
  if (!text) throw RunError(fmt::format("there is no token with the id {} (ids are below {})", id, size()));
  return *std::move(text);
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& file) {
  return Tokenizer(read_json_rules(text, file));
}

Tokenizer Tokenizer::from_file(std::string_view bytes, const std::string& file) {
  const bool is_sentencepiece = file.ends_with(".model") || looks_like_sentencepiece(bytes);
  return Tokenizer(is_sentencepiece ? read_sentencepiece_rules(bytes, file) : read_json_rules(bytes, file));
}

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerRules> rules) : rules_(std::move(rules)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

void Tokenizer::append(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const {
  std::string repaired;
  if (valid_prefix(text) < text.size()) text = repaired = repaired_utf8(text);
  rules_->encode(text, is_rest, ids);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  std::vector<int32_t> ids;
  const bool is_framed = special == SpecialTokens::kAround;
  if (is_framed) ids = ids_before();
  append(text, false, ids);
  if (is_framed) ids.insert(ids.end(), ids_after().begin(), ids_after().end());
  return ids;
}

std::vector<int32_t> Tokenizer::encode_rest(std::string_view text) const {
  std::vector<int32_t> ids;
  append(text, true, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  return rules_->decode(ids, skip_special);
}

const std::vector<int32_t>& Tokenizer::ids_before() const {
  return rules_->frame().before;
}

const std::vector<int32_t>& Tokenizer::ids_after() const {
  return rules_->frame().after;
}

int32_t Tokenizer::size() const {
  return rules_->size();
}

std::optional<int32_t> Tokenizer::id(std::string_view token) const {
  return rules_->id(token);
}

std::optional<std::string> Tokenizer::token(int32_t id) const {
  return rules_->token(id);
}

bool Tokenizer::may_cut_lines() const {
  return rules_->may_cut_lines();
}

std::vector<int32_t> Tokenizer::encode_lines(std::string_view text, char next, bool is_rest) const {
  std::vector<int32_t> ids;
  append(std::string(text) + next, is_rest, ids);
  const std::vector<int32_t> last = encode_rest(std::string_view(&next, 1));
  check_invariant(ids.size() >= last.size() && std::equal(last.rbegin(), last.rend(), ids.rbegin()),
                  "a text has been cut where it must not be");
  ids.resize(ids.size() - last.size());
  return ids;
}

}  // namespace mtfc
