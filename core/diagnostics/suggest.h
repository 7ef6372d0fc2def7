#pragma once
// "Did you mean": the nearest known name to an unknown one.

#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// `did you mean 'NAME'?` for the candidate with the smallest edit distance (transpositions count one,
/// letters of another case nothing), or "" where none is near: at most a third of the name's length, and at
/// least one, may differ. A name of one letter is near to itself in the other case alone.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace mtfc
