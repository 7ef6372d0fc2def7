#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "core/diagnostics/error.h"
#include "formats/tokenizer/sentencepiece_spec.h"
#include "formats/tokenizer/tokenizer_rules.h"

namespace mtfc {
namespace {

using sentencepiece::SentencePieceProcessor;

constexpr std::string_view kSpaceSign = "\u2581";  // A space in tokens.

// The library takes about a hundred bytes of memory for each byte of a text.
constexpr size_t kLongestPart = size_t{64} << 20;

void load(SentencePieceProcessor& library, std::string_view model) {
  const sentencepiece::util::Status status = library.LoadFromSerializedProto(model);
  if (!status.ok()) throw SentencepieceError(status.message());
}

class SentencepieceRules : public TokenizerRules {
 public:
  // Throws SentencepieceError.
  explicit SentencepieceRules(std::string_view model) : spec_(read_sentencepiece_spec(model)) {
    load(usual_, model);
    load(other_, with_prefix(model, !spec_.prefixes));
    if (usual_.bos_id() >= 0) frame_.before = {usual_.bos_id()};
  }

  void encode(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const override;
  std::string decode(std::span<const int32_t> ids, bool skip_special) const override;
  const SpecialFrame& frame() const override { return frame_; }
  bool may_cut_lines() const override { return spec_.may_cut_lines; }
  int32_t size() const override { return usual_.GetPieceSize(); }
  std::optional<int32_t> id(std::string_view token) const override;
  std::optional<std::string> token(int32_t id) const override;

 private:
  std::string decode_run(const std::vector<int>& ids, bool begins) const;

  const SentencepieceSpec spec_;
  SentencePieceProcessor usual_, other_;  // as the file says, and with a prefix if it says none, or without
  SpecialFrame frame_;
};

void SentencepieceRules::encode(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const {
  if (text.size() > kLongestPart)
    throw RunError(fmt::format("a text has more than {} MiB, which sentencepiece takes in one piece",
                               kLongestPart >> 20));
  // Where spaces are removed, the one in front of what continues a text is given back as the prefix.
  const bool prefixes = is_rest ? spec_.removes_spaces && text.starts_with(' ') : spec_.prefixes;
  std::vector<int> found;
  const auto status = (prefixes == spec_.prefixes ? usual_ : other_).Encode(text, &found);
  if (!status.ok()) throw RunError(fmt::format("sentencepiece cannot encode a text: {}", status.message()));
  ids.insert(ids.end(), found.begin(), found.end());
}

// The text of tokens that are no control tokens. `begins`: nothing is in front of it.
std::string SentencepieceRules::decode_run(const std::vector<int>& ids, bool begins) const {
  if (ids.empty()) return "";
  std::string text;
  const auto status = usual_.Decode(ids, &text);
  if (!status.ok()) throw RunError(fmt::format("sentencepiece cannot decode ids: {}", status.message()));
  // The library leaves out the space at the beginning of a text.
  const bool leaves_out = spec_.prefixes || spec_.removes_spaces;
  const bool has_space = !begins && leaves_out && usual_.IdToPiece(ids.front()).starts_with(kSpaceSign);
  return has_space ? " " + text : text;
}

std::string SentencepieceRules::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string text;
  std::vector<int> run;
  for (const int32_t id : ids) {
    const std::string token = known_token(id);
    if (!usual_.IsControl(id)) {
      run.push_back(id);
    } else if (!skip_special) {
      text += decode_run(run, text.empty()) + token;
      run.clear();
    }
  }
  return text + decode_run(run, text.empty());
}

std::optional<int32_t> SentencepieceRules::id(std::string_view token) const {
  const int32_t found = usual_.PieceToId(token);  // that of the unknown token, if there is no such token
  return this->token(found) == token ? std::optional(found) : std::nullopt;
}

std::optional<std::string> SentencepieceRules::token(int32_t id) const {
  return id >= 0 && id < size() ? std::optional(usual_.IdToPiece(id)) : std::nullopt;
}

}  // namespace

std::unique_ptr<const TokenizerRules> read_sentencepiece_rules(std::string_view bytes,
                                                               const std::string& file) {
  try {
    return std::make_unique<const SentencepieceRules>(bytes);
  } catch (const SentencepieceError& error) {
    throw UserError(fmt::format("{}: not a model of sentencepiece: {}", file, error.what()),
                    "it is the file tokenizer.model of a published model");
  }
}

}  // namespace mtfc
