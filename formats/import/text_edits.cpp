#include "formats/import/text_edits.h"

namespace mtfc {
namespace {

// The end of the number or string that begins at `begin`.
size_t end_of_scalar(std::string_view text, size_t begin) {
  if (text[begin] != '"') return std::min(text.find_first_of(",]} \t\r\n", begin), text.size());
  size_t at = begin + 1;
  while (text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

}  // namespace

TextEdits::TextEdits(std::string_view text) : text_(text), lines_{0} {
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') lines_.push_back(i + 1);
}

size_t TextEdits::offset(const JsonPlace& place) const {
  size_t at = lines_[static_cast<size_t>(place.line - 1)];
  const auto continues = [&](size_t i) { return (static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80; };
  for (int column = 1; column < place.column; ++column)
    for (++at; at < text_.size() && continues(at);) ++at;
  return at;
}

void TextEdits::replace(const JsonValue& value, std::string json) {
  const size_t begin = offset(value.place);
  edits_[begin] = {end_of_scalar(text_, begin), std::move(json)};
}

void TextEdits::replace_before(const JsonMember& member, const JsonMember& next, std::string json) {
  edits_[offset(member.place)] = {offset(next.place), std::move(json)};
}

void TextEdits::append(const JsonValue& object, std::string json) {
  const JsonValue& last = object.members.back().value;
  const size_t begin = offset(last.place), end = end_of_scalar(text_, begin);
  const auto at = edits_.find(begin);
  edits_[begin] = {end,
                   (at == edits_.end() ? std::string(text_.substr(begin, end - begin)) : at->second.json) +
                       std::move(json)};
}

std::string TextEdits::apply() const {
  std::string changed;
  size_t at = 0;
  for (const auto& [begin, edit] : edits_) {
    changed += text_.substr(at, begin - at);
    changed += edit.json;
    at = edit.end;
  }
  changed += text_.substr(at);
  return changed;
}

}  // namespace mtfc
