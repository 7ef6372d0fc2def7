#pragma once
// Formats quantities for people: `1.44 MiB`, `327 MFLOP`, `813,056`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtfc {

/// Bytes in powers of 1024, three significant digits: `512 B`, `1.44 MiB`.
std::string bytes_text(int64_t bytes);
/// Says whether `needed` bytes fit into `available`: `fits, 57.0 of 74.5 GiB`, or `12.3 GiB more than 74.5 GiB`.
std::string fit_text(int64_t needed, int64_t available);
/// In powers of 1000 with `unit` appended: `327 MFLOP`, `1.28 G`.
std::string count_text(int64_t count, const std::string& unit);
/// Three significant digits: `1.44 ms`.
std::string seconds_text(double seconds);
/// For a long time: `12.3 days`, `4.50 hours`, `32.0 minutes`, and seconds_text() below a minute.
std::string duration_text(double seconds);
/// All digits, in groups of three.
std::string grouped(int64_t count);
/// Rounded to a whole number, with groups of three, or if it is small to three digits: `12,346`, `1.25`. Works for any size.
std::string amount_text(double amount);

/// Parses `4096`, `10GB` (powers of 1000) or `1.5 GiB` (powers of 1024) as bytes, rounded down; nullopt for
/// other texts, and for less than one byte or more than int64_t holds.
std::optional<int64_t> parse_bytes(std::string_view text);

}  // namespace mtfc
