#pragma once
// Reads numbers that a file gives as such, or as an expression in a string. Mistakes inside a string are
// located there.

#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/expression/expression.h"
#include "formats/json/cursor.h"

namespace mtfc {

/// Each records an error and returns nullopt if the value is not a number of its kind.
std::optional<Number> read_number(const Cursor& at, const NameLookup& lookup);
std::optional<double> read_real(const Cursor& at, const NameLookup& lookup);
std::optional<int64_t> read_integer(const Cursor& at, const NameLookup& lookup);

/// A number as it is written in the file; integers beyond int64_t become real.
Number number_of(const JsonValue& value);
/// The location `offset` bytes into the string at `at`.
Location location_in(const Cursor& at, size_t offset);
/// The number of characters (code points) in the first `bytes` of `text`.
int characters(std::string_view text, size_t bytes);

}  // namespace mtfc
