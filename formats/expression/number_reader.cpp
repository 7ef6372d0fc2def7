#include "formats/expression/number_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace mtfc {

int characters(std::string_view text, size_t bytes) {
  const auto first = text.begin();
  const auto last = first + static_cast<std::ptrdiff_t>(std::min(bytes, text.size()));
  return static_cast<int>(
      std::count_if(first, last, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

Location location_in(const Cursor& at, size_t offset) {
  Location location = at.location();
  location.column += 1 + characters(at.value().text, offset);  // 1 for the quote
  return location;
}

Number number_of(const JsonValue& value) {
  if (value.text.find_first_of(".eE") == std::string::npos)
    if (const std::optional<int64_t> whole = value.integer()) return *whole;
  return value.number();
}

std::optional<Number> read_number(const Cursor& at, const NameLookup& lookup) {
  if (at.is(JsonKind::kNumber)) return number_of(at.value());
  if (!at.is(JsonKind::kString)) {
    at.expected("a number or an expression");
    return std::nullopt;
  }
  try {
    return evaluate(at.value().text, lookup);
  } catch (const ExpressionError& error) {
    if (error.is_reported())
      at.sink().consequence();
    else
      at.sink().error(location_in(at, error.offset), error.what(), error.hint);
    return std::nullopt;
  }
}

std::optional<double> read_real(const Cursor& at, const NameLookup& lookup) {
  const std::optional<Number> number = read_number(at, lookup);
  if (!number) return std::nullopt;
  return to_double(*number);
}

std::optional<int64_t> read_integer(const Cursor& at, const NameLookup& lookup) {
  const std::optional<Number> number = read_number(at, lookup);
  if (!number) return std::nullopt;
  const std::optional<int64_t> whole = to_integer(*number);
  if (!whole && at.is(JsonKind::kNumber))
    at.error(fmt::format("expected a whole number, found {}", at.value().text));
  else if (!whole)
    at.error(fmt::format("expected a whole number, but '{}' evaluates to {}", at.value().text,
                         to_string(*number)));
  return whole;
}

}  // namespace mtfc
