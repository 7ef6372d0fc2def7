#pragma once
// Quantities as people read them: `1.44 MiB`, `327 MFLOP`, `813,056`.

#include <cstdint>
#include <string>

namespace mtfc {

/// Bytes in powers of 1024, three significant digits: `512 B`, `1.44 MiB`.
std::string bytes_text(int64_t bytes);
/// In powers of 1000 with `unit` appended: `327 MFLOP`, `1.28 G`.
std::string count_text(int64_t count, const std::string& unit);
/// All digits, in groups of three.
std::string grouped(int64_t count);

}  // namespace mtfc
