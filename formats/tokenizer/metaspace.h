#pragma once
// The settings that pre-tokenizers and decoders of the kind Metaspace share: a visible character stands for blanks.

#include <cstdint>
#include <optional>

#include "core/diagnostics/enum_names.h"

namespace mtfc {

class Cursor;

/// Which words get the character in front that have none.
enum class PrependScheme { kFirst, kNever, kAlways };
template <>
inline constexpr auto kEnumNames<PrependScheme> = std::to_array<EnumName<PrependScheme>>(
    {{PrependScheme::kFirst, "first"}, {PrependScheme::kNever, "never"}, {PrependScheme::kAlways, "always"}});

struct Metaspace {
  uint32_t replacement = 0x2581;
  PrependScheme scheme = PrependScheme::kAlways;
  bool splits = true;
};

/// Records mistakes in the cursor's sink, and returns nothing then.
std::optional<Metaspace> read_metaspace(const Cursor& json);

}  // namespace mtfc
