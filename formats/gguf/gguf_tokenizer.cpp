#include "formats/gguf/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/diagnostics/error.h"
#include "formats/json/json_value.h"
#include "formats/tokenizer/tokenizer.h"

namespace mtfc {
namespace {

// The kinds of tokens, by the numbers that the format has for them.
enum TokenKind : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

// What llama.cpp calls the patterns by which published tokenizers cut texts into words.
struct NamedPattern {
  std::string_view part;  // that only this pattern has
  std::string_view name;
};
constexpr NamedPattern kPatterns[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)", "llama-bpe"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?)", "qwen2"}};

// All objects in a value that have "type": `type`.
void find_components(const JsonValue& value, std::string_view type, std::vector<const JsonValue*>& found) {
  const JsonValue* const stated = value.find("type");
  if (stated && stated->text == type) found.push_back(&value);
  for (const JsonMember& member : value.members) find_components(member.value, type, found);
  for (const JsonValue& item : value.items) find_components(item, type, found);
}

std::vector<const JsonValue*> components(const JsonValue& root, const char* part, std::string_view type) {
  std::vector<const JsonValue*> found;
  if (const JsonValue* const value = root.find(part)) find_components(*value, type, found);
  return found;
}

std::string pattern_name(const JsonValue& root, const std::string& file) {
  for (const JsonValue* const split : components(root, "pre_tokenizer", "Split"))
    if (const JsonValue* const pattern = split->find("pattern"); pattern && pattern->find("Regex"))
      for (const NamedPattern& known : kPatterns)
        if (pattern->find("Regex")->text.find(known.part) == 0) return std::string(known.name);
  for (const JsonValue* const bytes : components(root, "pre_tokenizer", "ByteLevel")) {
    const JsonValue *const uses = bytes->find("use_regex"), *const prefix = bytes->find("add_prefix_space");
    if ((!uses || uses->flag) && prefix && !prefix->flag) return "gpt-2";
  }
  throw UserError(fmt::format("'{}' cuts texts into words by a pattern that llama.cpp has no name for", file),
                  "the patterns of gpt-2, Llama 3 and Qwen 2 have one; export a folder instead");
}

// Whether a text begins with a blank that is not its own.
bool adds_blank(const JsonValue& root) {
  if (!components(root, "normalizer", "Prepend").empty()) return true;
  const std::vector<const JsonValue*> blanks = components(root, "pre_tokenizer", "Metaspace");
  const JsonValue* const scheme = blanks.empty() ? nullptr : blanks.front()->find("prepend_scheme");
  return !blanks.empty() && !(scheme && scheme->text == "never");
}

struct GgufVocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;

  void set(size_t id, std::string token, int32_t kind) {
    if (id >= tokens.size()) return;
    tokens[id] = std::move(token);
    kinds[id] = kind;
  }
};

bool is_byte_token(const std::string& token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with('>');
}

GgufVocabulary vocabulary_of(const JsonValue& root, size_t size) {
  GgufVocabulary all{{}, std::vector<int32_t>(size, kUnused)};
  for (size_t i = 0; i < size; ++i) all.tokens.push_back(fmt::format("[PAD{}]", i));
  const JsonValue& model = *root.find("model");
  const JsonValue* const unknown = model.find("unk_token");
  for (const JsonMember& token : model.find("vocab")->members) {
    const int32_t kind = unknown && unknown->text == token.key ? kUnknown
                         : is_byte_token(token.key)            ? kByte
                                                               : kNormal;
    all.set(static_cast<size_t>(token.value.integer().value_or(-1)), token.key, kind);
  }
  if (const JsonValue* const added = root.find("added_tokens"))
    for (const JsonValue& token : added->items) {
      const JsonValue* const special = token.find("special");
      const auto id = static_cast<size_t>(token.find("id")->integer().value_or(-1));
      if (id < size && all.kinds[id] == kUnknown) continue;
      all.set(id, token.find("content")->text, special && special->flag ? kControl : kUserDefined);
    }
  return all;
}

// Merges as two tokens with a space between, in the order of the file.
std::vector<std::string> merges_of(const JsonValue& model) {
  std::vector<std::string> merges;
  for (const JsonValue& merge : model.find("merges")->items)
    merges.push_back(merge.kind == JsonKind::kString ? merge.text
                                                     : merge.items[0].text + " " + merge.items[1].text);
  return merges;
}

// Earlier merges come first, so what they make has a higher score.
std::vector<float> scores_of(const GgufVocabulary& vocabulary, const std::vector<std::string>& merges) {
  std::map<std::string, float> ranks;
  for (size_t i = 0; i < merges.size(); ++i) {
    std::string made = merges[i];
    made.erase(made.find(' ', 1), 1);
    ranks.try_emplace(made, -static_cast<float>(i));
  }
  std::vector<float> scores;
  for (const std::string& token : vocabulary.tokens) {
    const auto rank = ranks.find(token);
    scores.push_back(rank == ranks.end() ? 0 : rank->second);
  }
  return scores;
}

}  // namespace

void add_tokenizer(std::string_view text, const std::string& file, int64_t vocabulary, GgufHeader& header) {
  const Tokenizer tokenizer = Tokenizer::from_json(text, file);  // with errors for anything that is not right
  if (tokenizer.size() > vocabulary)
    throw UserError(fmt::format("'{}' has {} tokens, but the model has a vocabulary of {}", file,
                                tokenizer.size(), vocabulary),
                    "give the tokenizer of this model");
  const JsonValue root = parse_json(text, file);
  const JsonValue& model = *root.find("model");
  const JsonValue* const type = model.find("type");
  if (type && type->text != "BPE")
    throw UserError(
        fmt::format("'{}' has a model of the type {}, and only BPE can be written as GGUF", file, type->text),
        "export a folder instead");
  const GgufVocabulary tokens = vocabulary_of(root, static_cast<size_t>(vocabulary));
  const std::vector<std::string> merges = merges_of(model);
  const JsonValue* const fallback = model.find("byte_fallback");
  if (fallback && fallback->flag) {
    header.add_text("tokenizer.ggml.model", "llama");
    header.add_text("tokenizer.ggml.pre", "default");
    header.add_flag("tokenizer.ggml.add_space_prefix", adds_blank(root));
    header.add_f32s("tokenizer.ggml.scores", scores_of(tokens, merges));
  } else {
    header.add_text("tokenizer.ggml.model", "gpt2");
    header.add_text("tokenizer.ggml.pre", pattern_name(root, file));
    header.add_texts("tokenizer.ggml.merges", merges);
  }
  header.add_texts("tokenizer.ggml.tokens", tokens.tokens);
  header.add_i32s("tokenizer.ggml.token_type", tokens.kinds);
  header.add_flag("tokenizer.ggml.add_bos_token", !tokenizer.ids_before().empty());
  header.add_flag("tokenizer.ggml.add_eos_token", !tokenizer.ids_after().empty());
}

void add_no_tokenizer(int64_t vocabulary, const std::string& architecture, GgufHeader& header) {
  header.add_text("tokenizer.ggml.model", "no_vocab");
  header.add_u32(architecture + ".vocab_size", static_cast<uint32_t>(vocabulary));
}

}  // namespace mtfc
