#include "formats/tokenizer/component_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/diagnostics/suggest.h"
#include "formats/tokenizer/code_points.h"

namespace mtfc {

bool is_absent(const std::optional<Cursor>& found) {
  return !found || found->is(JsonKind::kNull);
}

bool flag_of(const Cursor& json, std::string_view key, bool fallback) {
  const auto found = json.find(key);
  return is_absent(found) ? fallback : found->flag().value_or(fallback);
}

std::optional<std::string> optional_string_of(const Cursor& json, std::string_view key) {
  const auto found = json.find(key);
  return is_absent(found) ? std::nullopt : found->string();
}

std::string string_of(const Cursor& json, std::string_view key, const std::string& fallback) {
  return optional_string_of(json, key).value_or(fallback);
}

int64_t integer_of(const Cursor& json, std::string_view key, int64_t fallback) {
  const auto found = json.find(key);
  return is_absent(found) ? fallback : found->integer().value_or(fallback);
}

uint32_t character_of(const Cursor& json, std::string_view key) {
  const auto found = json.require(key);
  const auto text = found ? found->string("a character") : std::nullopt;
  if (!text) return 0;
  if (count_code_points(*text) == 1) return code_point_at(*text, 0).value;
  found->error(fmt::format("expected one character, found '{}'", *text));
  return 0;
}

std::optional<std::string> component_type(const Cursor& json) {
  if (!json.is(JsonKind::kObject)) {
    json.expected("an object");
    return std::nullopt;
  }
  const auto type = json.require("type");
  return type ? type->string() : std::nullopt;
}

void refuse_type(const Cursor& json, std::string_view what, const std::string& type,
                 const std::vector<std::string>& known) {
  const std::string near = did_you_mean(type, known);
  json.find("type")->error(fmt::format("'{}' is not known as {}", type, what),
                           near.empty() ? fmt::format("known are {}", fmt::join(known, ", ")) : near);
}

}  // namespace mtfc
