#pragma once
// Checks of the values of options. Each says what is wrong in the words of the command line.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cmd/options/command_line.h"

namespace mtfc {

/// A whole number from `least` to `most`, in digits.
ValueCheck whole_number(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());
/// A finite number above 0.
ValueCheck positive_number();
/// A finite number of at least 0.
ValueCheck number_not_negative();
/// One of `words`, with "did you mean" for others.
ValueCheck one_of(const std::vector<std::string>& words);

}  // namespace mtfc
