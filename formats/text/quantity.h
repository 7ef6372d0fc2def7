#pragma once
// Formats quantities for people: `1.44 MiB`, `327 MFLOP`, `813,056`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtfc {

/// Bytes in powers of 1024, three significant digits: `512 B`, `1.44 MiB`.
std::string bytes_text(int64_t bytes);
/// In powers of 1000 with `unit` appended: `327 MFLOP`, `1.28 G`.
std::string count_text(int64_t count, const std::string& unit);
/// Three significant digits: `1.44 ms`.
std::string seconds_text(double seconds);
/// All digits, in groups of three.
std::string grouped(int64_t count);

/// Parses `4096`, `10GB` (powers of 1000) or `1.5 GiB` (powers of 1024) as bytes, rounded down; nullopt for
/// other texts, and for less than one byte or more than int64_t holds.
std::optional<int64_t> parse_bytes(std::string_view text);

}  // namespace mtfc
