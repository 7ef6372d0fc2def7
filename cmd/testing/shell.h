#pragma once
// Runs commands for tests of the command line.
//
//   outcome_of("echo one; exit 2")      {2, "one\n"}
//   outcome_in_models("$MTFC ops")      "exit 0: element by element: ..."

#include <string>

namespace mtfc {

struct Outcome {
  int code = -1;     // -1: it was ended by a signal
  std::string text;  // standard output
};

/// What the shell's `command` makes.
Outcome outcome_of(const std::string& command);

/// What `command` prints in the folder of the bundled models, standard error too, with "exit N: " before it;
/// $MTFC is the program.
std::string outcome_in_models(const std::string& command);

}  // namespace mtfc
