#pragma once
// `--memory-limit B`: a program that needs more memory on a device than there may be is refused before anything
// runs, since the arena is planned when the program is compiled.

#include <cstdint>
#include <string>

#include "core/program/program.h"

namespace mtfc {

class CommandLine;

/// Replaces the text by the number of bytes that it means. Returns "" or what is wrong with it.
std::string read_bytes(std::string& text);

/// --memory-limit, as in 10GiB or 512MiB; 0 where it is not given. `help` says what the command does with it.
void add_memory_limit(CommandLine& line, int64_t& limit,
                      const std::string& help =
                          "refuse a program that needs more than B bytes per device, as in 10GiB or 512MiB");

/// Throws UserError where an entry point of `program` needs more than `limit` bytes a device: by how much,
/// and which tensors take most where it needs most. A limit of 0 allows everything.
void require_fits(const Program& program, int64_t limit);

}  // namespace mtfc
