#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "core/diagnostics/error.h"
#include "formats/json/cursor.h"
#include "formats/tokenizer/added_tokens.h"
#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/component_keys.h"
#include "formats/tokenizer/normalizer.h"
#include "formats/tokenizer/post_processor.h"
#include "formats/tokenizer/pre_tokenizer.h"
#include "formats/tokenizer/token_decoder.h"
#include "formats/tokenizer/token_model.h"
#include "formats/tokenizer/tokenizer_rules.h"

namespace mtfc {
namespace {

// Memories that no call uses at present. They keep the words that they know from one call to the next.
class MemoryPool {
 public:
  std::unique_ptr<ModelMemory> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<ModelMemory>();
    auto memory = std::move(free_.back());
    free_.pop_back();
    return memory;
  }
  void give(std::unique_ptr<ModelMemory> memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<ModelMemory>> free_;
};

// A memory for the time of a call.
class BorrowedMemory {
 public:
  explicit BorrowedMemory(MemoryPool& pool) : pool_(pool), memory_(pool.take()) {}
  ~BorrowedMemory() { pool_.give(std::move(memory_)); }
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;
  ModelMemory& operator*() { return *memory_; }

 private:
  MemoryPool& pool_;
  std::unique_ptr<ModelMemory> memory_;
};

struct JsonParts {
  AddedTokens added;
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  SpecialFrame frame;
  std::unique_ptr<TokenDecoder> decoder;
};

class JsonRules : public TokenizerRules {
 public:
  explicit JsonRules(JsonParts parts) : parts_(std::move(parts)), may_cut_lines_(keeps_line_starts()) {}

  void encode(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const override;
  std::string decode(std::span<const int32_t> ids, bool skip_special) const override;
  const SpecialFrame& frame() const override { return parts_.frame; }
  bool may_cut_lines() const override { return may_cut_lines_; }
  int32_t size() const override { return std::max(parts_.added.size(), parts_.model->vocabulary().size()); }
  std::optional<int32_t> id(std::string_view token) const override;
  std::optional<std::string> token(int32_t id) const override;

 private:
  void encode_section(SectionText section, ModelMemory& memory, std::vector<int32_t>& ids) const;
  void encode_words(SectionText section, ModelMemory& memory, std::vector<int32_t>& ids) const;
  bool keeps_line_starts() const;

  JsonParts parts_;
  bool may_cut_lines_;
  mutable MemoryPool memories_;
};

void JsonRules::encode(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const {
  BorrowedMemory memory(memories_);
  for (const TextPart& part : parts_.added.split(text, false)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    const bool is_first = part.begin == 0;
    encode_section({.text = std::string(text.substr(part.begin, part.end - part.begin)),
                    .is_first = is_first && !is_rest,
                    .continues = is_first && is_rest},
                   *memory, ids);
  }
}

// A section without added tokens that are found in texts as they are.
void JsonRules::encode_section(SectionText section, ModelMemory& memory, std::vector<int32_t>& ids) const {
  if (parts_.normalizer) parts_.normalizer->apply(section);
  const std::vector<TextPart> parts = parts_.added.split(section.text, true);
  for (const TextPart& part : parts) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    if (parts.size() == 1) return encode_words(std::move(section), memory, ids);
    const bool begins = part.begin == 0;
    encode_words({.text = section.text.substr(part.begin, part.end - part.begin),
                  .is_first = begins && section.is_first,
                  .continues = begins && section.continues},
                 memory, ids);
  }
}

void JsonRules::encode_words(SectionText section, ModelMemory& memory, std::vector<int32_t>& ids) const {
  Words words{.text = std::move(section.text),
              .spans = {},
              .is_first = section.is_first,
              .continues = section.continues};
  words.spans.push_back({0, words.text.size()});
  if (parts_.pre_tokenizer) parts_.pre_tokenizer->apply(words);
  for (size_t i = 0; i < words.spans.size(); ++i) parts_.model->encode(words.word(i), memory, ids);
}

bool JsonRules::keeps_line_starts() const {
  if (parts_.normalizer && !parts_.normalizer->keeps_line_starts()) return false;
  const LineStarts starts =
      parts_.pre_tokenizer ? parts_.pre_tokenizer->line_starts() : LineStarts{.are_kept = true};
  const bool prepends = starts.prepends || (parts_.normalizer && parts_.normalizer->prepends());
  if (!starts.are_kept || !parts_.added.keep_line_starts(prepends)) return false;
  if (starts.are_words) return true;
  constexpr uint32_t kLineFeedOfBytes = 0x10A;  // that of byte-level tokenizers
  for (char letter = 'A'; letter <= 'z'; ++letter) {
    if (letter > 'Z' && letter < 'a') continue;
    const auto right = static_cast<uint32_t>(letter);
    if (!parts_.model->parts_at('\n', right) || !parts_.model->parts_at(kLineFeedOfBytes, right))
      return false;
  }
  return true;
}

void check_batch_keys(const Cursor& root) {
  if (const auto truncation = root.find("truncation"); !is_absent(truncation))
    truncation->check_keys({"direction", "max_length", "strategy", "stride"});
  if (const auto padding = root.find("padding"); !is_absent(padding))
    padding->check_keys(
        {"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"});
  const auto version = root.find("version");
  const auto text = is_absent(version) ? std::nullopt : version->string();
  if (text && *text != "1.0") version->error(fmt::format("the version {} is not known", *text), "1.0 is");
}

// The ids around a text must be some tokens'.
void check_frame(const Cursor& root, const JsonParts& parts) {
  for (const auto* ids : {&parts.frame.before, &parts.frame.after})
    for (const int32_t id : *ids)
      if (!parts.added.find(id) && !parts.model->vocabulary().token(id))
        root.find("post_processor")->error(fmt::format("there is no token with the id {}", id));
}

JsonParts read_parts(const Cursor& root) {
  JsonParts parts;
  check_batch_keys(root);
  if (const auto found = root.find("normalizer"); !is_absent(found))
    parts.normalizer = read_normalizer(*found);
  if (const auto found = root.find("pre_tokenizer"); !is_absent(found))
    parts.pre_tokenizer = read_pre_tokenizer(*found);
  if (const auto found = root.find("post_processor"); !is_absent(found))
    parts.frame = read_post_processor(*found);
  if (const auto found = root.find("decoder"); !is_absent(found)) parts.decoder = read_token_decoder(*found);
  if (const auto found = root.require("model")) parts.model = read_token_model(*found);
  if (const auto found = root.find("added_tokens"); parts.model && !is_absent(found))
    parts.added = AddedTokens(read_added_tokens(*found, parts.model->vocabulary()), parts.normalizer.get());
  if (parts.model) check_frame(root, parts);
  return parts;
}

std::string JsonRules::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    const AddedToken* const added = parts_.added.find(id);
    if (added && added->is_special && skip_special) continue;
    tokens.push_back(known_token(id));
  }
  if (parts_.decoder) parts_.decoder->apply(tokens);
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!parts_.decoder && i > 0) text += ' ';
    text += tokens[i];
  }
  return text;
}

std::optional<int32_t> JsonRules::id(std::string_view token) const {
  if (const AddedToken* const added = parts_.added.find(token)) return added->id;
  return parts_.model->vocabulary().id(token);
}

std::optional<std::string> JsonRules::token(int32_t id) const {
  if (const AddedToken* const added = parts_.added.find(id)) return parts_.added.text(*added);
  const auto text = parts_.model->vocabulary().token(id);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

}  // namespace

std::unique_ptr<const TokenizerRules> read_json_rules(std::string_view text, const std::string& file) {
  const JsonValue json = parse_json(text, file);
  DiagnosticSink sink;
  const Cursor root(json, file, sink);
  JsonParts parts;
  if (root.check_keys({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                       "post_processor", "decoder", "model"}))
    parts = read_parts(root);
  std::vector<Diagnostic> warnings;
  sink.finish(warnings);
  return std::make_unique<const JsonRules>(std::move(parts));
}

}  // namespace mtfc
