#include "formats/tokenizer/normalizer.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "formats/tokenizer/byte_alphabet.h"
#include "formats/tokenizer/charsmap.h"
#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/component_keys.h"
#include "formats/tokenizer/pattern_reader.h"

namespace mtfc {
namespace {

using NormalizerPointer = std::unique_ptr<Normalizer>;

// A normalizer without a state of its own that puts another text in place of a text.
class TextFunction : public Normalizer {
 public:
  using Function = std::string (*)(std::string_view text);
  TextFunction(Function function, bool keeps_line_starts)
      : function_(function), keeps_line_starts_(keeps_line_starts) {}
  void apply(SectionText& section) const override { section.text = function_(section.text); }
  bool keeps_line_starts() const override { return keeps_line_starts_; }

 private:
  Function function_;
  bool keeps_line_starts_;
};

template <NormalForm kForm>
NormalizerPointer read_form_normalizer(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<TextFunction>([](std::string_view text) { return in_normal_form(text, kForm); },
                                        true);
}

NormalizerPointer read_lowercase_normalizer(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<TextFunction>(lower_case, true);
}

NormalizerPointer read_byte_level_normalizer(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<TextFunction>(bytes_as_characters, false);
}

// Leaves out the code points that `is_removed` says, and notes if the first one is.
template <typename Removed>
void remove_code_points(SectionText& section, Removed is_removed) {
  std::string kept;
  kept.reserve(section.text.size());
  for_each_code_point(section.text, [&](CodePoint point, size_t at) {
    if (!is_removed(point.value))
      kept.append(section.text, at, point.length);
    else if (at == 0)
      section.is_first = false;
  });
  section.text = std::move(kept);
}

class StripAccents : public Normalizer {
 public:
  void apply(SectionText& section) const override {
    if (!is_ascii(section.text)) remove_code_points(section, is_mark);
  }
  bool keeps_line_starts() const override { return true; }
};
NormalizerPointer read_accents_normalizer(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<StripAccents>();
}

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(SectionText& section) const override {
    const std::string& text = section.text;
    size_t begin = 0, end = text.size();
    while (left_ && begin < end && is_white_space(code_point_at(text, begin).value))
      begin += code_point_at(text, begin).length;
    while (right_ && begin < end && is_white_space(code_point_before(text, end).value))
      end -= code_point_before(text, end).length;
    if (begin > 0) section.is_first = false;
    section.text = text.substr(begin, end - begin);
  }

 private:
  bool left_, right_;
};
NormalizerPointer read_strip_normalizer(const Cursor& json) {
  json.check_keys({"type", "strip_left", "strip_right"});
  return std::make_unique<Strip>(flag_of(json, "strip_left", false), flag_of(json, "strip_right", false));
}

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string text) : text_(std::move(text)) {}
  void apply(SectionText& section) const override {
    if (!section.text.empty() && !section.continues) section.text.insert(0, text_);
  }
  bool keeps_line_starts() const override { return true; }
  bool prepends() const override { return true; }

 private:
  std::string text_;
};
NormalizerPointer read_prepend_normalizer(const Cursor& json) {
  json.check_keys({"type", "prepend"});
  const auto text = json.require("prepend");
  return std::make_unique<Prepend>(text ? text->string().value_or("") : "");
}

class Replace : public Normalizer {
 public:
  Replace(TextPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(SectionText& section) const override {
    if (content_.empty()) {
      const auto match = pattern_.find(section.text, 0);
      if (match && match->begin == 0 && match->end > 0) section.is_first = false;
    }
    section.text = replaced(pattern_, section.text, content_);
  }
  bool keeps_line_starts() const override {
    const std::string& text = pattern_.source();
    return !pattern_.is_expression() && std::none_of(text.begin(), text.end(), [](unsigned char c) {
      return c == '\n' || std::isalpha(c) != 0;
    });
  }

 private:
  TextPattern pattern_;
  std::string content_;
};
NormalizerPointer read_replace_normalizer(const Cursor& json) {
  json.check_keys({"type", "pattern", "content"});
  auto pattern = read_pattern(json);
  if (!pattern) return nullptr;
  return std::make_unique<Replace>(*std::move(pattern), string_of(json, "content", ""));
}

// A normalizer of neural translation leaves some characters out, and takes others for blanks.
class Nmt : public Normalizer {
 public:
  void apply(SectionText& section) const override {
    remove_code_points(section, [](uint32_t c) {
      return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    });
    std::string text;
    for_each_code_point(section.text, [&](CodePoint point, size_t) {
      append_code_point(text, is_blank(point.value) ? ' ' : point.value);
    });
    section.text = std::move(text);
  }

 private:
  static bool is_blank(uint32_t c) {
    return c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};
NormalizerPointer read_nmt_normalizer(const Cursor& json) {
  json.check_keys({"type"});
  return std::make_unique<Nmt>();
}

struct BertSettings {
  bool clean_text = true, handle_chinese_chars = true, strip_accents = true, lowercase = true;
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertSettings& settings) : settings_(settings) {}
  void apply(SectionText& section) const override {
    if (settings_.clean_text) clean(section);
    if (settings_.handle_chinese_chars && !is_ascii(section.text)) {
      std::string text;
      for_each_code_point(section.text, [&](CodePoint point, size_t at) {
        const bool is_apart = is_chinese(point.value);
        if (is_apart) text += ' ';
        text.append(section.text, at, point.length);
        if (is_apart) text += ' ';
      });
      section.text = std::move(text);
    }
    if (settings_.strip_accents && !is_ascii(section.text)) {
      section.text = in_normal_form(section.text, NormalForm::kNfd);
      remove_code_points(section, is_nonspacing_mark);
    }
    if (settings_.lowercase) section.text = lower_case(section.text);
  }

 private:
  static void clean(SectionText& section) {
    const auto is_plain_control = [](uint32_t c) { return c == '\t' || c == '\n' || c == '\r'; };
    remove_code_points(section, [&](uint32_t c) {
      return c == 0 || c == 0xFFFD || (!is_plain_control(c) && is_control_or_unassigned(c));
    });
    std::string text;
    for_each_code_point(section.text, [&](CodePoint point, size_t at) {
      if (is_white_space(point.value))
        text += ' ';
      else
        text.append(section.text, at, point.length);
    });
    section.text = std::move(text);
  }

  BertSettings settings_;
};
NormalizerPointer read_bert_normalizer(const Cursor& json) {
  json.check_keys({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertSettings settings;
  settings.clean_text = flag_of(json, "clean_text", true);
  settings.handle_chinese_chars = flag_of(json, "handle_chinese_chars", true);
  settings.lowercase = flag_of(json, "lowercase", true);
  settings.strip_accents = flag_of(json, "strip_accents", settings.lowercase);
  return std::make_unique<BertNormalizer>(settings);
}

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {}
  void apply(SectionText& section) const override { section.text = map_.apply(section.text); }

 private:
  Charsmap map_;
};
NormalizerPointer read_precompiled_normalizer(const Cursor& json) {
  json.check_keys({"type", "precompiled_charsmap"});
  const auto map = json.find("precompiled_charsmap");
  if (is_absent(map)) return std::make_unique<Precompiled>(Charsmap());
  const auto text = map->string("a table of characters in base64");
  if (!text) return nullptr;
  try {
    return std::make_unique<Precompiled>(Charsmap(*text));
  } catch (const CharsmapError& error) {
    map->error(error.what());
    return nullptr;
  }
}

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPointer> steps) : steps_(std::move(steps)) {}
  void apply(SectionText& section) const override {
    for (const auto& step : steps_) step->apply(section);
  }
  bool keeps_line_starts() const override {
    return std::all_of(steps_.begin(), steps_.end(),
                       [](const auto& step) { return step->keeps_line_starts(); });
  }
  bool prepends() const override {
    return std::any_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->prepends(); });
  }

 private:
  std::vector<NormalizerPointer> steps_;
};
NormalizerPointer read_sequence_normalizer(const Cursor& json) {
  json.check_keys({"type", "normalizers"});
  std::vector<NormalizerPointer> steps;
  if (const auto list = json.require("normalizers"))
    for (const Cursor& item : list->items("a list of normalizers"))
      if (auto step = read_normalizer(item)) steps.push_back(std::move(step));
  return std::make_unique<NormalizerSequence>(std::move(steps));
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const Cursor& json) {
  static constexpr ComponentKind<NormalizerPointer> kKinds[] = {
      {"Sequence", read_sequence_normalizer},
      {"NFC", read_form_normalizer<NormalForm::kNfc>},
      {"NFD", read_form_normalizer<NormalForm::kNfd>},
      {"NFKC", read_form_normalizer<NormalForm::kNfkc>},
      {"NFKD", read_form_normalizer<NormalForm::kNfkd>},
      {"Lowercase", read_lowercase_normalizer},
      {"StripAccents", read_accents_normalizer},
      {"BertNormalizer", read_bert_normalizer},
      {"Strip", read_strip_normalizer},
      {"Prepend", read_prepend_normalizer},
      {"Replace", read_replace_normalizer},
      {"Nmt", read_nmt_normalizer},
      {"Precompiled", read_precompiled_normalizer},
      {"ByteLevel", read_byte_level_normalizer},
  };
  return read_component(json, "a normalizer", kKinds);
}

}  // namespace mtfc
