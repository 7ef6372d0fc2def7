#pragma once
// What the values of options must be, said in the words of the command line.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/diagnostics/error.h"

namespace CLI {
class App;
class ParseError;
class Validator;
}  // namespace CLI

namespace mtfc {

/// A whole number from `least` to `most`, in digits.
CLI::Validator whole_number(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());
/// A finite number above 0.
CLI::Validator positive_number();
/// A finite number of at least 0.
CLI::Validator number_not_negative();
/// One of `words`, with "did you mean" for others.
CLI::Validator one_of(std::vector<std::string> words);

/// What is wrong with a command line, from CLI11's error. `commands` are the names of all subcommands.
UserError parse_error(const CLI::ParseError& error, const CLI::App& app,
                      const std::vector<std::string>& commands);

}  // namespace mtfc
