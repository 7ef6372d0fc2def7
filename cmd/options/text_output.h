#pragma once
// The options --format and -o of commands that write text for people or JSON for programs.

#include <string>

namespace mtfc {

class CommandLine;

struct OutputFlags {
  std::string format;
  std::string file = "-";
};

/// Adds --format, which takes text and json, and -o.
void add_output_options(CommandLine& line, OutputFlags& flags);
/// Adds -o alone, for a command that has formats of its own.
void add_output_file(CommandLine& line, std::string& file);

/// Returns whether the output, `what` as in "an explanation", is to be JSON. Throws UserError if the name of the file
/// ends otherwise.
bool is_json(const OutputFlags& flags, const std::string& what);

}  // namespace mtfc
