#include "formats/tokenizer/tokenizer.h"

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

}  // namespace

struct Tokenizer::Parts {
  AddedTokens added;
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  SpecialFrame frame;
  std::unique_ptr<TokenDecoder> decoder;
  bool may_cut_lines = false;
  mutable MemoryPool memories;

  void encode(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const;
  void encode_section(SectionText section, ModelMemory& memory, std::vector<int32_t>& ids) const;
  void encode_words(SectionText section, ModelMemory& memory, std::vector<int32_t>& ids) const;
  bool keeps_line_starts() const;
};

void Tokenizer::Parts::encode(std::string_view text, bool is_rest, std::vector<int32_t>& ids) const {
  BorrowedMemory memory(memories);
  std::string repaired;
  if (valid_prefix(text) < text.size()) text = repaired = repaired_utf8(text);
  for (const TextPart& part : added.split(text, false)) {
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
void Tokenizer::Parts::encode_section(SectionText section, ModelMemory& memory,
                                      std::vector<int32_t>& ids) const {
  if (normalizer) normalizer->apply(section);
  const std::vector<TextPart> parts = added.split(section.text, true);
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

void Tokenizer::Parts::encode_words(SectionText section, ModelMemory& memory,
                                    std::vector<int32_t>& ids) const {
  Words words{.text = std::move(section.text),
              .spans = {},
              .is_first = section.is_first,
              .continues = section.continues};
  words.spans.push_back({0, words.text.size()});
  if (pre_tokenizer) pre_tokenizer->apply(words);
  for (size_t i = 0; i < words.spans.size(); ++i) model->encode(words.word(i), memory, ids);
}

bool Tokenizer::Parts::keeps_line_starts() const {
  if (normalizer && !normalizer->keeps_line_starts()) return false;
  const LineStarts starts = pre_tokenizer ? pre_tokenizer->line_starts() : LineStarts{.are_kept = true};
  const bool prepends = starts.prepends || (normalizer && normalizer->prepends());
  if (!starts.are_kept || !added.keep_line_starts(prepends)) return false;
  if (starts.are_words) return true;
  constexpr uint32_t kLineFeedOfBytes = 0x10A;  // that of byte-level tokenizers
  for (char letter = 'A'; letter <= 'z'; ++letter) {
    if (letter > 'Z' && letter < 'a') continue;
    const auto right = static_cast<uint32_t>(letter);
    if (!model->parts_at('\n', right) || !model->parts_at(kLineFeedOfBytes, right)) return false;
  }
  return true;
}

namespace {

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

}  // namespace

// The ids around a text must be some tokens'.
void Tokenizer::check_frame(const Cursor& root, const Parts& parts) {
  for (const auto* ids : {&parts.frame.before, &parts.frame.after})
    for (const int32_t id : *ids)
      if (!parts.added.find(id) && !parts.model->vocabulary().token(id))
        root.find("post_processor")->error(fmt::format("there is no token with the id {}", id));
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& file) {
  const JsonValue json = parse_json(text, file);
  DiagnosticSink sink;
  const Cursor root(json, file, sink);
  auto parts = std::make_unique<Parts>();
  const bool is_object = root.check_keys({"version", "truncation", "padding", "added_tokens", "normalizer",
                                          "pre_tokenizer", "post_processor", "decoder", "model"});
  if (is_object) {
    check_batch_keys(root);
    if (const auto found = root.find("normalizer"); !is_absent(found))
      parts->normalizer = read_normalizer(*found);
    if (const auto found = root.find("pre_tokenizer"); !is_absent(found))
      parts->pre_tokenizer = read_pre_tokenizer(*found);
    if (const auto found = root.find("post_processor"); !is_absent(found))
      parts->frame = read_post_processor(*found);
    if (const auto found = root.find("decoder"); !is_absent(found))
      parts->decoder = read_token_decoder(*found);
    if (const auto found = root.require("model")) parts->model = read_token_model(*found);
    if (const auto found = root.find("added_tokens"); parts->model && !is_absent(found))
      parts->added =
          AddedTokens(read_added_tokens(*found, parts->model->vocabulary()), parts->normalizer.get());
  }
  if (parts->model) check_frame(root, *parts);
  std::vector<Diagnostic> warnings;
  sink.finish(warnings);
  parts->may_cut_lines = parts->keeps_line_starts();
  return Tokenizer(std::move(parts));
}

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  std::vector<int32_t> ids;
  const bool is_framed = special == SpecialTokens::kAround;
  if (is_framed) ids = parts_->frame.before;
  parts_->encode(text, false, ids);
  if (is_framed) ids.insert(ids.end(), parts_->frame.after.begin(), parts_->frame.after.end());
  return ids;
}

std::vector<int32_t> Tokenizer::encode_rest(std::string_view text) const {
  std::vector<int32_t> ids;
  parts_->encode(text, true, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    const AddedToken* const added = parts_->added.find(id);
    if (added && added->is_special && skip_special) continue;
    std::optional<std::string> text = token(id);
    if (!text) throw RunError(fmt::format("there is no token with the id {} (ids are below {})", id, size()));
    tokens.push_back(*std::move(text));
  }
  if (parts_->decoder) parts_->decoder->apply(tokens);
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!parts_->decoder && i > 0) text += ' ';
    text += tokens[i];
  }
  return text;
}

const std::vector<int32_t>& Tokenizer::ids_before() const {
  return parts_->frame.before;
}

const std::vector<int32_t>& Tokenizer::ids_after() const {
  return parts_->frame.after;
}

int32_t Tokenizer::size() const {
  return std::max(parts_->added.size(), parts_->model->vocabulary().size());
}

std::optional<int32_t> Tokenizer::id(std::string_view token) const {
  if (const AddedToken* const added = parts_->added.find(token)) return added->id;
  return parts_->model->vocabulary().id(token);
}

std::optional<std::string> Tokenizer::token(int32_t id) const {
  if (const AddedToken* const added = parts_->added.find(id)) return parts_->added.text(*added);
  const auto text = parts_->model->vocabulary().token(id);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

bool Tokenizer::may_cut_lines() const {
  return parts_->may_cut_lines;
}

std::vector<int32_t> Tokenizer::encode_lines(std::string_view text, char next, bool is_rest) const {
  std::vector<int32_t> ids;
  parts_->encode(std::string(text) + next, is_rest, ids);
  const std::vector<int32_t> last = encode_rest(std::string_view(&next, 1));
  check_invariant(ids.size() >= last.size() && std::equal(last.rbegin(), last.rend(), ids.rbegin()),
                  "a text has been cut where it must not be");
  ids.resize(ids.size() - last.size());
  return ids;
}

}  // namespace mtfc
