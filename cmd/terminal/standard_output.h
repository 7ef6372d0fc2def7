#pragma once
// Standard output whose loss never goes unnoticed: a full disk behind it fails the command.

namespace mtfc {

/// From here on std::cout remembers why it first failed. It is called once, by main.
void watch_standard_output();

/// Flushes std::cout. Throws RunError, `cannot write to standard output: REASON`, if that or anything before
/// it failed.
void flush_standard_output();

}  // namespace mtfc
