#pragma once
// Reading the keys of a tokenizer.json. Each of its components is an object whose key `type` names its kind.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json/cursor.h"

namespace mtfc {

/// The value of `key`; `fallback` if it is missing or null, and after a mistake, which is recorded.
bool flag_of(const Cursor& json, std::string_view key, bool fallback);
std::string string_of(const Cursor& json, std::string_view key, const std::string& fallback);
std::optional<std::string> optional_string_of(const Cursor& json, std::string_view key);
int64_t integer_of(const Cursor& json, std::string_view key, int64_t fallback);
/// The value of `key` must be there, and a single character.
uint32_t character_of(const Cursor& json, std::string_view key);

/// `found` is null, or missing: the component has nothing of this kind.
bool is_absent(const std::optional<Cursor>& found);

/// A kind of component, and the function that reads an object of this kind. It returns nullptr after a mistake.
template <typename Result>
struct ComponentKind {
  std::string_view type;
  Result (*read)(const Cursor& json);
};

/// The text of `type`; nothing after a mistake, which is recorded.
std::optional<std::string> component_type(const Cursor& json);
void refuse_type(const Cursor& json, std::string_view what, const std::string& type,
                 const std::vector<std::string>& known);

/// Reads the component by the row of its type. `what` is in it, as in "a decoder".
template <typename Result, size_t kCount>
Result read_component(const Cursor& json, std::string_view what,
                      const ComponentKind<Result> (&kinds)[kCount]) {
  const std::optional<std::string> type = component_type(json);
  if (!type) return nullptr;
  std::vector<std::string> known;
  for (const auto& kind : kinds) {
    if (kind.type == *type) return kind.read(json);
    known.emplace_back(kind.type);
  }
  refuse_type(json, what, *type, known);
  return nullptr;
}

}  // namespace mtfc
