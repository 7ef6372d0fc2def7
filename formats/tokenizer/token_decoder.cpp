#include "formats/tokenizer/token_decoder.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "formats/tokenizer/byte_alphabet.h"
#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/component_keys.h"
#include "formats/tokenizer/metaspace.h"
#include "formats/tokenizer/pattern_reader.h"

namespace mtfc {
namespace {

using DecoderPointer = std::unique_ptr<TokenDecoder>;

std::string joined_text(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::string with_replaced(std::string_view text, const std::string& from, std::string_view to) {
  return from.empty() ? std::string(text) : replaced(TextPattern::plain(from), text, to);
}

class ByteLevelDecoder : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) add_bytes(token, bytes);
    tokens.assign(1, repaired_utf8(bytes));
  }

 private:
  // A token with a character that stands for no byte is taken as it is.
  static void add_bytes(const std::string& token, std::string& bytes) {
    const size_t before = bytes.size();
    bool is_whole = true;
    for_each_code_point(token, [&](CodePoint point, size_t) {
      const auto byte = byte_of_character(point.value);
      is_whole = is_whole && byte.has_value();
      bytes += byte.value_or(0);
    });
    if (is_whole) return;
    bytes.resize(before);
    bytes += token;
  }
};
DecoderPointer read_byte_level_decoder(const Cursor& json) {
  json.check_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  return std::make_unique<ByteLevelDecoder>();
}

class MetaspaceDecoder : public TokenDecoder {
 public:
  explicit MetaspaceDecoder(const Metaspace& settings) : settings_(settings) {}
  void apply(std::vector<std::string>& tokens) const override {
    const std::string replacement = to_utf8(settings_.replacement);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool drops = i == 0 && settings_.scheme != PrependScheme::kNever;
      tokens[i] = with_replaced(tokens[i], replacement, drops ? "" : " ");
    }
  }

 private:
  Metaspace settings_;
};
DecoderPointer read_metaspace_decoder(const Cursor& json) {
  const auto settings = read_metaspace(json);
  return settings ? std::make_unique<MetaspaceDecoder>(*settings) : nullptr;
}

// Blanks that English does not have, as before a full stop.
std::string without_english_blanks(std::string text) {
  static constexpr std::pair<const char*, const char*> kPairs[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kPairs) text = with_replaced(text, from, to);
  return text;
}

class WordPieceDecoder : public TokenDecoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleans) : prefix_(std::move(prefix)), cleans_(cleans) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0) token = token.starts_with(prefix_) ? token.substr(prefix_.size()) : " " + token;
      if (cleans_) token = without_english_blanks(token);
    }
  }

 private:
  std::string prefix_;
  bool cleans_;
};
DecoderPointer read_word_piece_decoder(const Cursor& json) {
  json.check_keys({"type", "prefix", "cleanup"});
  return std::make_unique<WordPieceDecoder>(string_of(json, "prefix", "##"), flag_of(json, "cleanup", true));
}

class BpeDecoder : public TokenDecoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = with_replaced(tokens[i], suffix_, i + 1 < tokens.size() ? " " : "");
  }

 private:
  std::string suffix_;
};
DecoderPointer read_bpe_decoder(const Cursor& json) {
  json.check_keys({"type", "suffix"});
  return std::make_unique<BpeDecoder>(string_of(json, "suffix", "</w>"));
}

// Tokens of bytes, such as <0x0A>, in a row are a text if they are UTF-8, and otherwise U+FFFD each.
class ByteFallback : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> result;
    std::string bytes;
    const auto add_bytes = [&] {
      if (valid_prefix(bytes) == bytes.size()) {
        if (!bytes.empty()) result.push_back(bytes);
      } else {
        for (size_t i = 0; i < bytes.size(); ++i) result.push_back(to_utf8(0xFFFD));
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = byte_of(token)) {
        bytes += *byte;
        continue;
      }
      add_bytes();
      result.push_back(std::move(token));
    }
    add_bytes();
    tokens = std::move(result);
  }

 private:
  static std::optional<char> byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    unsigned value = 0;
    const char* const end = token.data() + 5;
    const auto [stop, error] = std::from_chars(token.data() + 3, end, value, 16);
    if (error != std::errc() || stop != end) return std::nullopt;
    return static_cast<char>(value);
  }
};
DecoderPointer read_byte_fallback_decoder(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<ByteFallback>();
}

class Fuse : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& tokens) const override { tokens.assign(1, joined_text(tokens)); }
};
DecoderPointer read_fuse_decoder(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<Fuse>();
}

// Removes a character at the beginning and the end of each token, up to so many times.
class StripDecoder : public TokenDecoder {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view left = token;
      for (int64_t i = 0; i < start_ && left.starts_with(content_); ++i) left.remove_prefix(content_.size());
      for (int64_t i = 0; i < stop_ && left.ends_with(content_); ++i) left.remove_suffix(content_.size());
      token = std::string(left);
    }
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};
DecoderPointer read_strip_decoder(const Cursor& json) {
  json.check_keys({"type", "content", "start", "stop"});
  const uint32_t content = character_of(json, "content");
  return std::make_unique<StripDecoder>(to_utf8(content), integer_of(json, "start", 0),
                                        integer_of(json, "stop", 0));
}

class ReplaceDecoder : public TokenDecoder {
 public:
  ReplaceDecoder(TextPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) token = replaced(pattern_, token, content_);
  }

 private:
  TextPattern pattern_;
  std::string content_;
};
DecoderPointer read_replace_decoder(const Cursor& json) {
  json.check_keys({"type", "pattern", "content"});
  auto pattern = read_pattern(json);
  if (!pattern) return nullptr;
  return std::make_unique<ReplaceDecoder>(*std::move(pattern), string_of(json, "content", ""));
}

class DecoderSequence : public TokenDecoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPointer> steps) : steps_(std::move(steps)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) step->apply(tokens);
  }

 private:
  std::vector<DecoderPointer> steps_;
};
DecoderPointer read_sequence_decoder(const Cursor& json) {
  json.check_keys({"type", "decoders"});
  std::vector<DecoderPointer> steps;
  if (const auto list = json.require("decoders"))
    for (const Cursor& item : list->items("a list of decoders"))
      if (auto step = read_token_decoder(item)) steps.push_back(std::move(step));
  return std::make_unique<DecoderSequence>(std::move(steps));
}

}  // namespace

std::unique_ptr<TokenDecoder> read_token_decoder(const Cursor& json) {
  static constexpr ComponentKind<DecoderPointer> kKinds[] = {
      {"Sequence", read_sequence_decoder},   {"ByteLevel", read_byte_level_decoder},
      {"Metaspace", read_metaspace_decoder}, {"WordPiece", read_word_piece_decoder},
      {"BPEDecoder", read_bpe_decoder},      {"ByteFallback", read_byte_fallback_decoder},
      {"Fuse", read_fuse_decoder},           {"Strip", read_strip_decoder},
      {"Replace", read_replace_decoder},
  };
  return read_component(json, "a decoder", kKinds);
}

}  // namespace mtfc
