#pragma once
// Standard output that nobody loses part of unnoticed: a full disk behind it fails the command.

namespace mtfc {

/// From here on std::cout keeps the reason why it first failed. For main, once.
void watch_standard_output();

/// Writes out what std::cout holds. Throws RunError, `cannot write to standard output: REASON`, where that or
/// anything before it failed.
void flush_standard_output();

}  // namespace mtfc
