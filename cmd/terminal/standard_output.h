#pragma once
// Standard output whose loss never goes unnoticed: a full disk behind it fails the command.

namespace mtfc {

/// Gives each standard stream that is closed a file, so that no other file takes its number: nothing can be read from
/// standard input, and nothing written to standard output. Ends the death by SIGPIPE: a reader that has gone is an
/// error of writing. It is called once, first of all, by main.
void hold_standard_streams();

/// From here on std::cout remembers why it first failed. It is called once, by main.
void watch_standard_output();

/// Flushes std::cout. Throws RunError, `cannot write to standard output: REASON`, if that or anything before
/// it failed.
void flush_standard_output();

}  // namespace mtfc
