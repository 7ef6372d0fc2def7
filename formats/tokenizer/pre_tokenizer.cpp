#include "formats/tokenizer/pre_tokenizer.h"

#include <fmt/format.h>

#include <optional>

#include "formats/tokenizer/byte_alphabet.h"
#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/component_keys.h"
#include "formats/tokenizer/line_starts.h"
#include "formats/tokenizer/metaspace.h"
#include "formats/tokenizer/pattern_reader.h"

namespace mtfc {
namespace {

using PreTokenizerPointer = std::unique_ptr<PreTokenizer>;

// Cuts a word into the matches of a pattern and what is between them.
void add_pieces(const TextPattern& pattern, std::string_view word, std::vector<WordPiece>& pieces,
                bool inverts) {
  size_t done = 0;
  MatchFinder matches(pattern, word);
  while (const auto match = matches.next()) {
    if (done < match->begin) pieces.push_back({done, match->begin, inverts});
    pieces.push_back({match->begin, match->end, !inverts});
    done = match->end;
  }
  if (done < word.size()) pieces.push_back({done, word.size(), inverts});
}

// Each code point for which `is_match` is true is a match by itself.
template <typename IsMatch>
void add_pieces_of_points(std::string_view word, std::vector<WordPiece>& pieces, IsMatch is_match) {
  size_t done = 0;
  for_each_code_point(word, [&](CodePoint point, size_t at) {
    if (!is_match(point.value)) return;
    if (done < at) pieces.push_back({done, at, false});
    done = at + point.length;
    pieces.push_back({at, done, true});
  });
  if (done < word.size()) pieces.push_back({done, word.size(), false});
}

std::optional<SplitBehavior> read_behavior(const Cursor& json) {
  const auto found = json.require("behavior");
  const auto name = found ? found->string() : std::nullopt;
  if (!name) return std::nullopt;
  const auto behavior = value_named<SplitBehavior>(*name);
  if (!behavior)
    found->error(fmt::format("'{}' is not known", *name), keys_hint(*name, enum_names<SplitBehavior>()));
  return behavior;
}

class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(TextPattern pattern, SplitBehavior behavior, bool inverts)
      : pattern_(std::move(pattern)), behavior_(behavior), inverts_(inverts) {}

  void apply(Words& words) const override {
    split_words(words, behavior_, [&](std::string_view word, std::vector<WordPiece>& pieces) {
      add_pieces(pattern_, word, pieces, inverts_);
    });
  }
  LineStarts line_starts() const override {
    LineStarts starts = line_starts_of(pattern_);
    // Other behaviours may join the match that begins there with what is before it.
    const bool is_apart =
        behavior_ == SplitBehavior::kIsolated || (behavior_ == SplitBehavior::kRemoved && inverts_);
    starts.are_words = starts.are_words && is_apart;
    return starts;
  }

 private:
  TextPattern pattern_;
  SplitBehavior behavior_;
  bool inverts_;
};
PreTokenizerPointer read_pattern_split(const Cursor& json) {
  json.check_keys({"type", "pattern", "behavior", "invert"});
  auto pattern = read_pattern(json);
  const auto behavior = read_behavior(json);
  const bool inverts = flag_of(json, "invert", false);
  if (!pattern || !behavior) return nullptr;
  return std::make_unique<PatternSplit>(*std::move(pattern), *behavior, inverts);
}

// The words of Rust's crate regex for \w and \s, which are the same here.
PreTokenizerPointer read_words_split(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<PatternSplit>(TextPattern::expression("[\\w\u200C\u200D]+|[^\\w\\s\u200C\u200D]+"),
                                        SplitBehavior::kRemoved, true);
}

// Code points of a kind are matches.
class ClassSplit : public PreTokenizer {
 public:
  using IsMatch = bool (*)(uint32_t);
  ClassSplit(IsMatch is_match, SplitBehavior behavior) : is_match_(is_match), behavior_(behavior) {}
  void apply(Words& words) const override {
    split_words(words, behavior_, [&](std::string_view word, std::vector<WordPiece>& pieces) {
      add_pieces_of_points(word, pieces, is_match_);
    });
  }
  LineStarts line_starts() const override {
    return {.are_kept = true, .are_words = is_match_('\n') && behavior_ == SplitBehavior::kRemoved};
  }

 private:
  IsMatch is_match_;
  SplitBehavior behavior_;
};
PreTokenizerPointer read_whitespace_split(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<ClassSplit>(is_white_space, SplitBehavior::kRemoved);
}
PreTokenizerPointer read_punctuation_split(const Cursor& json) {
  json.check_keys({"type", "behavior"});
  const auto behavior = json.find("behavior") ? read_behavior(json) : SplitBehavior::kIsolated;
  if (!behavior) return nullptr;
  return std::make_unique<ClassSplit>(is_punctuation, *behavior);
}
PreTokenizerPointer read_digits_split(const Cursor& json) {
  json.check_keys({"type", "individual_digits"});
  const bool is_individual = flag_of(json, "individual_digits", false);
  return std::make_unique<ClassSplit>(is_number,
                                      is_individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

class DelimiterSplit : public PreTokenizer {
 public:
  explicit DelimiterSplit(uint32_t delimiter) : delimiter_(delimiter) {}
  void apply(Words& words) const override {
    split_words(words, SplitBehavior::kRemoved, [&](std::string_view word, std::vector<WordPiece>& pieces) {
      add_pieces_of_points(word, pieces, [&](uint32_t c) { return c == delimiter_; });
    });
  }
  LineStarts line_starts() const override { return {.are_kept = true, .are_words = delimiter_ == '\n'}; }

 private:
  uint32_t delimiter_;
};
PreTokenizerPointer read_delimiter_split(const Cursor& json) {
  json.check_keys({"type", "delimiter"});
  return std::make_unique<DelimiterSplit>(character_of(json, "delimiter"));
}

// The words of the text that `change` makes of each word, one after another.
template <typename Change>
void change_words(Words& words, Change change) {
  Words changed{.text = {}, .spans = {}, .is_first = words.is_first, .continues = words.continues};
  changed.text.reserve(words.text.size() + words.text.size() / 4);
  changed.spans.reserve(words.spans.size());
  for (size_t i = 0; i < words.spans.size(); ++i) {
    const size_t begin = changed.text.size();
    change(words.word(i), changed.text, i == 0);
    if (changed.text.size() > begin) changed.spans.push_back({begin, changed.text.size()});
  }
  words = std::move(changed);
}

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool adds_blank, std::optional<TextPattern> pattern)
      : adds_blank_(adds_blank), pattern_(std::move(pattern)) {}

  void apply(Words& words) const override {
    if (adds_blank_)
      change_words(words, [&](std::string_view word, std::string& text, bool is_first) {
        if (!word.starts_with(' ') && !(is_first && words.continues)) text += ' ';
        text += word;
      });
    if (pattern_)
      split_words(words, SplitBehavior::kIsolated,
                  [&](std::string_view word, std::vector<WordPiece>& pieces) {
                    add_pieces(*pattern_, word, pieces, false);
                  });
    change_words(words,
                 [](std::string_view word, std::string& text, bool) { text += bytes_as_characters(word); });
  }
  LineStarts line_starts() const override {
    LineStarts starts = pattern_ ? line_starts_of(*pattern_) : LineStarts{.are_kept = true};
    starts.are_changed = true;
    starts.prepends = adds_blank_;
    return starts;
  }

 private:
  bool adds_blank_;
  std::optional<TextPattern> pattern_;
};
PreTokenizerPointer read_byte_level_split(const Cursor& json) {
  json.check_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  flag_of(json, "trim_offsets", true);  // is about places of tokens in the text
  std::optional<TextPattern> pattern;
  // The pattern of GPT-2.
  if (flag_of(json, "use_regex", true))
    pattern = TextPattern::expression(
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+");
  return std::make_unique<ByteLevelPreTokenizer>(flag_of(json, "add_prefix_space", true), std::move(pattern));
}

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(const Metaspace& settings)
      : settings_(settings), replacement_(to_utf8(settings.replacement)) {}

  void apply(Words& words) const override {
    change_words(words, [&](std::string_view word, std::string& text, bool is_first) {
      const size_t begin = text.size();
      if (prepends(word, is_first, words)) text += replacement_;
      for (const char c : word) {
        if (c == ' ')
          text += replacement_;
        else
          text += c;
      }
      if (text.size() == begin) return;
    });
    if (!settings_.splits) return;
    split_words(words, SplitBehavior::kMergedWithNext,
                [&](std::string_view word, std::vector<WordPiece>& pieces) {
                  add_pieces_of_points(word, pieces, [&](uint32_t c) { return c == settings_.replacement; });
                });
  }
  LineStarts line_starts() const override {
    return {.are_kept = true, .prepends = settings_.scheme != PrependScheme::kNever};
  }

 private:
  bool prepends(std::string_view word, bool is_first, const Words& words) const {
    if (word.starts_with(replacement_) || word.starts_with(' ')) return false;
    if (settings_.scheme == PrependScheme::kNever || (is_first && words.continues)) return false;
    return settings_.scheme == PrependScheme::kAlways ||
           (is_first && words.is_first && words.spans[0].begin == 0);
  }

  Metaspace settings_;
  std::string replacement_;
};
PreTokenizerPointer read_metaspace_split(const Cursor& json) {
  const auto settings = read_metaspace(json);
  return settings ? std::make_unique<MetaspacePreTokenizer>(*settings) : nullptr;
}

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPointer> steps) : steps_(std::move(steps)) {}
  void apply(Words& words) const override {
    for (const auto& step : steps_) step->apply(words);
  }
  LineStarts line_starts() const override {
    LineStarts all{.are_kept = true};
    for (size_t i = 0; i < steps_.size(); ++i) {
      const LineStarts starts = steps_[i]->line_starts();
      if (!starts.are_kept || all.are_changed || (starts.prepends && i > 0)) return {};
      all.are_words = all.are_words || starts.are_words;
      all.are_changed = starts.are_changed;
      all.prepends = all.prepends || starts.prepends;
    }
    return all;
  }

 private:
  std::vector<PreTokenizerPointer> steps_;
};
PreTokenizerPointer read_sequence_split(const Cursor& json) {
  json.check_keys({"type", "pretokenizers"});
  std::vector<PreTokenizerPointer> steps;
  if (const auto list = json.require("pretokenizers"))
    for (const Cursor& item : list->items("a list of pre-tokenizers"))
      if (auto step = read_pre_tokenizer(item)) steps.push_back(std::move(step));
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

// Blanks are removed, and punctuation is apart.
PreTokenizerPointer read_bert_split(const Cursor& json) {
  json.check_keys({"type"});
  std::vector<PreTokenizerPointer> steps;
  steps.push_back(std::make_unique<ClassSplit>(is_white_space, SplitBehavior::kRemoved));
  steps.push_back(std::make_unique<ClassSplit>(is_punctuation, SplitBehavior::kIsolated));
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Cursor& json) {
  static constexpr ComponentKind<PreTokenizerPointer> kKinds[] = {
      {"Sequence", read_sequence_split},
      {"Split", read_pattern_split},
      {"ByteLevel", read_byte_level_split},
      {"Metaspace", read_metaspace_split},
      {"BertPreTokenizer", read_bert_split},
      {"Whitespace", read_words_split},
      {"WhitespaceSplit", read_whitespace_split},
      {"Punctuation", read_punctuation_split},
      {"Digits", read_digits_split},
      {"CharDelimiterSplit", read_delimiter_split},
  };
  return read_component(json, "a pre-tokenizer", kKinds);
}

}  // namespace mtfc
