#pragma once
// A JSON text as a tree of values that know where they stand, for located messages. nlohmann::json parses;
// this tree keeps what it drops: places, the order of keys, duplicate keys (an error here) and the text of
// numbers. Nesting is limited to kDeepestJson, so that nothing that walks or destroys a tree can exhaust the
// stack.

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

/// Counted from 1; columns count characters (code points), not bytes.
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

  /// Of a kNumber: its value if that is a whole number in the range of int64_t, exactly.
  std::optional<int64_t> integer() const;
  /// Of a kNumber. Always finite.
  double number() const;
  /// Of a kObject: the value under `key`, or nullptr.
  const JsonValue* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  JsonPlace place;  // of the key
  JsonValue value;
};

/// Parses `text` (UTF-8, a byte order mark allowed). `file` is for messages. Throws UserError for text that
/// is no JSON, for duplicate keys, for numbers beyond double and for nesting beyond kDeepestJson.
JsonValue parse_json(std::string_view text, const std::string& file);
/// The same for text that mtfc may have written itself: nothing where it is no JSON.
std::optional<JsonValue> find_json(std::string_view text);

/// Appends `/token` to a JSON pointer, escaped as RFC 6901 says.
std::string child_pointer(const std::string& pointer, std::string_view token);

}  // namespace mtfc
