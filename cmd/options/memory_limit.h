#pragma once
// `--memory-limit B`: a training step that needs more memory on a device than there may be computes activations again
// in its backward pass. A program that needs more all the same is refused before anything runs, since the arena is
// planned when the program is compiled.

#include <cstdint>
#include <string>

#include "core/compile/fit_memory.h"
#include "core/program/program.h"

namespace mtfc {

class CommandLine;

/// Replaces the text by the number of bytes that it means. Returns "" or what is wrong with it.
std::string read_bytes(std::string& text);

/// --memory-limit, as in 10GiB or 512MiB; 0 where it is not given. `help` says what the command does with it.
void add_memory_limit(
    CommandLine& line, int64_t& limit,
    const std::string& help =
        "memory per device, as in 10GiB or 512MiB: a training step that exceeds it "
        "recomputes activations in the backward pass; if that is not enough, products run in turns; "
        "a program that still does not fit is refused");

/// Compiles within a limit, 0 for none; without `hardware`, times are predicted for the profile `local`.
FittedProgram compile_within(const Model& model, const Layout& layout, const CompileOptions& options,
                             int64_t limit, const Hardware* hardware);

/// Notes that say what the backward pass computes again to keep the limit, how long that takes, and how much memory it
/// saves; and how many products run in turns. There are none if the program fits as it is.
std::vector<Diagnostic> limit_notes(const FittedProgram& fitted, int64_t limit);

/// Throws UserError where an entry point of the program needs more than `limit` bytes a device: by how much,
/// and which tensors take most where it needs most. A limit of 0 allows everything.
void require_fits(const Program& program, int64_t limit);
void require_fits(const FittedProgram& fitted, int64_t limit);

}  // namespace mtfc
