#pragma once
// Reads the JSON that program_json writes (formats/program/program_writer.h), for `run PROGRAM` and
// `cost-report PROGRAM`.

#include <string>
#include <string_view>

#include "core/program/program.h"

namespace mtfc {

/// Returns whether `text` is meant as a saved program rather than a model: whether it has the key
/// "mtfc_program".
bool is_program(std::string_view text);

/// Throws UserError, located in `file`, for text that is not a program of this version, and for a program
/// that can't be executed safely (core/program/program_check.h). program_json of the result gives `text`
/// again.
Program read_program(std::string_view text, const std::string& file);
/// A program that another rank of the same run has compiled. It is not checked again.
Program read_sent_program(std::string_view text);

}  // namespace mtfc
