#pragma once
// Names of enumerators: one table per enum, which both writes and reads them.
//
//   enum class Phase { kForward, kBackward, kUpdate };
//   template <>
//   inline constexpr auto kEnumNames<Phase> = std::to_array<EnumName<Phase>>(
//       {{Phase::kForward, "forward"}, {Phase::kBackward, "backward"}, {Phase::kUpdate, "update"}});
//
// to_string(Phase::kUpdate) is then "update", and value_named<Phase>("update") is Phase::kUpdate. A table has a
// row for each enumerator; a text that is only written may have a table of its own and name_in().

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics/error.h"

namespace mtfc {

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

/// Specialised beside each enum that has names.
template <typename Enum>
inline constexpr bool kEnumNames = false;

template <typename Enum>
concept NamedEnum = requires {
  kEnumNames<Enum>.size();
};

/// The name of `value` in `table`. Throws InternalError where there is none.
template <typename Table, typename Enum>
constexpr std::string_view name_in(const Table& table, Enum value) {
  for (const auto& row : table)
    if (row.value == value) return row.name;
  throw InternalError("an enumerator has no name");
}

template <NamedEnum Enum>
std::string to_string(Enum value) {
  return std::string(name_in(kEnumNames<Enum>, value));
}

/// Nothing where no enumerator has this name.
template <NamedEnum Enum>
constexpr std::optional<Enum> value_named(std::string_view name) {
  for (const auto& row : kEnumNames<Enum>)
    if (row.name == name) return row.value;
  return std::nullopt;
}

/// In the order of the table.
template <NamedEnum Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& row : kEnumNames<Enum>) names.emplace_back(row.name);
  return names;
}

}  // namespace mtfc
