#pragma once
// Runs commands for tests of the command line.
//
//   outcome_of("echo one; exit 2")      {2, "one\n"}
//   outcome_in_models("$MTFC ops")      "exit 0: element by element: ..."

#include <string>

namespace mtfc {

struct Outcome {
  int code = -1;     // -1: ended by a signal
  std::string text;  // standard output
};

/// Runs `command` in a shell.
Outcome outcome_of(const std::string& command);

/// Runs `command` in the folder of the bundled models and returns its output, including standard error, after
/// "exit N: "; $MTFC is the program.
std::string outcome_in_models(const std::string& command);

/// The name of a Python that has this package, or "" if there is none.
std::string python_with(const std::string& package);

}  // namespace mtfc
