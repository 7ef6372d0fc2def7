#pragma once
// A JSON text as a tree of values that know their locations, for error messages. nlohmann::json parses; this
// tree keeps what it drops: locations, the order of keys, duplicate keys (an error here) and the text of
// numbers. Nesting is limited to kDeepestJson, so that walking or destroying a tree can't exhaust the stack.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/error.h"

namespace mtfc {

inline constexpr size_t kDeepestJson = 1000;

enum class JsonKind { kNull, kBool, kNumber, kString, kArray, kObject };
/// `a number`, `a list`, … for messages.
template <>
inline constexpr auto kEnumNames<JsonKind> =
    std::to_array<EnumName<JsonKind>>({{JsonKind::kNull, "null"},
                                       {JsonKind::kBool, "true or false"},
                                       {JsonKind::kNumber, "a number"},
                                       {JsonKind::kString, "a string"},
                                       {JsonKind::kArray, "a list"},
                                       {JsonKind::kObject, "an object"}});

/// A line and column, counted from 1; columns count characters (code points), not bytes.
struct JsonPlace {
  int line = 1;
  int column = 1;
};

struct JsonMember;

struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  JsonPlace place;
  bool flag = false;                // kBool
  std::string text;                 // kString: its value; kNumber: as written
  std::vector<JsonValue> items;     // kArray
  std::vector<JsonMember> members;  // kObject, in the order of the file; keys are unique

  /// For a kNumber: its exact value if that is an integer in the range of int64_t.
  std::optional<int64_t> integer() const;
  /// For a kNumber: its value, always finite.
  double number() const;
  /// For a kObject: the value under `key`, or nullptr.
  const JsonValue* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  JsonPlace place;  // location of the key
  JsonValue value;
};

/// Parses `text` (UTF-8, with or without a byte order mark). `file` is used in messages. Throws UserError for
/// text that is not JSON, for duplicate keys, for numbers beyond double and for nesting deeper than
/// kDeepestJson.
JsonValue parse_json(std::string_view text, const std::string& file);
/// The same for text that mtfc may have written itself; returns nullopt if it is not JSON.
std::optional<JsonValue> find_json(std::string_view text);

/// Appends `/token` to a JSON pointer, escaped as RFC 6901 says.
std::string child_pointer(const std::string& pointer, std::string_view token);

}  // namespace mtfc
