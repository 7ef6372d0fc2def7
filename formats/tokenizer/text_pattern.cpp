#include "formats/tokenizer/text_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "formats/tokenizer/code_points.h"
#include "formats/tokenizer/pattern_syntax.h"

namespace mtfc {
namespace {

std::string pcre2_message(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
    return fmt::format("PCRE2 gives the error {}", code);
  return reinterpret_cast<const char*>(text);
}

// The memory in which a thread matches, of which only the offsets of the whole match are kept.
struct MatchMemory {
  MatchMemory()
      : data(pcre2_match_data_create(1, nullptr)),
        stack(pcre2_jit_stack_create(32 << 10, 16 << 20, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    if (!data || !context) throw std::bad_alloc();
    if (stack) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~MatchMemory() {
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
    pcre2_match_data_free(data);
  }
  MatchMemory(const MatchMemory&) = delete;
  MatchMemory& operator=(const MatchMemory&) = delete;

  pcre2_match_data* data;
  pcre2_jit_stack* stack;
  pcre2_match_context* context;
};

}  // namespace

struct TextPattern::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {}
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  pcre2_code* code;
  bool is_machine_code = false;
};

TextPattern TextPattern::plain(std::string text) {
  TextPattern pattern;
  pattern.source_ = std::move(text);
  return pattern;
}

TextPattern TextPattern::expression(const std::string& source) {
  TextPattern pattern;
  pattern.source_ = source;
  const std::string rewritten = pcre2_syntax(source);
  int error = 0;
  PCRE2_SIZE offset = 0;
  const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, context.get());
  if (!code) throw PatternError(pcre2_message(error));
  auto owner = std::make_shared<Code>(code);
  owner->is_machine_code = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  pattern.code_ = std::move(owner);
  return pattern;
}

std::optional<PatternMatch> TextPattern::find(std::string_view text, size_t from) const {
  if (!code_) {
    const size_t at = text.find(source_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return PatternMatch{at, at + source_.size()};
  }
  static thread_local MatchMemory memory;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const int result = code_->is_machine_code ? pcre2_jit_match(code_->code, subject, text.size(), from, 0,
                                                              memory.data, memory.context)
                                            : pcre2_match(code_->code, subject, text.size(), from,
                                                          PCRE2_NO_UTF_CHECK, memory.data, memory.context);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0)
    throw RunError(fmt::format("the expression '{}' can't be matched: {}", source_, pcre2_message(result)));
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(memory.data);
  return PatternMatch{offsets[0], offsets[1]};
}

std::optional<PatternMatch> MatchFinder::next() {
  while (from_ <= text_.size()) {
    const std::optional<PatternMatch> match = pattern_.find(text_, from_);
    if (!match) return std::nullopt;
    if (match->begin < match->end || match->end != last_end_) {
      from_ = match->end;
      last_end_ = match->end;
      return match;
    }
    from_ = match->end + (match->end < text_.size() ? code_point_at(text_, match->end).length : 1);
  }
  return std::nullopt;
}

std::string replaced(const TextPattern& pattern, std::string_view text, std::string_view content) {
  std::string result;
  result.reserve(text.size());
  size_t done = 0;
  MatchFinder matches(pattern, text);
  while (const auto match = matches.next()) {
    result += text.substr(done, match->begin - done);
    result += content;
    done = match->end;
  }
  result += text.substr(done);
  return result;
}

}  // namespace mtfc
