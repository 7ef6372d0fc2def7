#include "formats/tokenizer/pattern_reader.h"

#include <fmt/format.h>

namespace mtfc {

std::optional<TextPattern> read_pattern(const Cursor& component) {
  const auto pattern = component.require("pattern");
  if (!pattern || !pattern->check_keys({"String", "Regex"})) return std::nullopt;
  const auto plain = pattern->find("String"), expression = pattern->find("Regex");
  if (plain.has_value() == expression.has_value()) {
    pattern->error("expected either 'String' or 'Regex'");
    return std::nullopt;
  }
  const auto text = (plain ? plain : expression)->string();
  if (!text) return std::nullopt;
  if (plain && text->empty()) {
    plain->error("there is nothing to look for");
    return std::nullopt;
  }
  if (plain) return TextPattern::plain(*text);
  try {
    return TextPattern::expression(*text);
  } catch (const PatternError& error) {
    expression->error(fmt::format("the expression '{}' is not understood: {}", *text, error.what()));
    return std::nullopt;
  }
}

}  // namespace mtfc
