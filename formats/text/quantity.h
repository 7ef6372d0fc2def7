#pragma once
// Formats quantities for people: `1.44 MiB`, `327 MFLOP`, `813,056`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtfc {

/// Bytes in powers of 1024, three significant digits: `512 B`, `1.44 MiB`.
std::string bytes_text(int64_t bytes);
/// The memory of a device, or a limit of it, as people call it: `80 GB` for 80e9 bytes, `16 GiB` for 16 * 2^30;
/// otherwise bytes_text().
std::string memory_text(int64_t bytes);
/// Bytes as an option takes them, in few characters and exactly: `80GB`, `1.5GiB`, `699999`.
std::string bytes_argument(int64_t bytes);
/// True if memory_text() shows so many bytes in powers of 1000; false for 0.
bool is_decimal(int64_t bytes);
/// In powers of 1000 if `memory` is_decimal(), otherwise, and where that is 0, in powers of 1024; three significant
/// digits.
std::string bytes_beside(int64_t bytes, int64_t memory);
/// Says whether `needed` bytes fit into `available`: `fits, 57.0 of 80 GB`, or `12.3 GB more than 80 GB`.
std::string fit_text(int64_t needed, int64_t available);
/// In powers of 1000 with `unit` appended: `327 MFLOP`, `1.28 G`.
std::string count_text(int64_t count, const std::string& unit);
/// Three significant digits: `1.44 ms`.
std::string seconds_text(double seconds);
/// For a long time: `12.3 days`, `4.50 hours`, `32.0 minutes`, and seconds_text() below a minute.
std::string duration_text(double seconds);
/// All digits, in groups of three.
std::string grouped(int64_t count);
/// `1 device`, `1,024 devices`: all digits and the noun, whose plural has `ending`.
std::string counted(int64_t count, const std::string& noun, const std::string& ending = "s");
/// Rounded to a whole number, with groups of three, or if it is small to three digits: `12,346`, `1.25`. Works for any
/// size.
std::string amount_text(double amount);

/// Parses `4096`, `10GB` (powers of 1000) or `1.5 GiB` (powers of 1024) as bytes, rounded down; nullopt for
/// other texts, and for less than one byte or more than int64_t holds.
std::optional<int64_t> parse_bytes(std::string_view text);

}  // namespace mtfc
