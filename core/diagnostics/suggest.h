#pragma once
// "Did you mean": the nearest known name to an unknown one.

#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// `did you mean 'NAME'?` for the candidate at the smallest edit distance from `name`, or "" if none is near.
/// Names of several parts, `layer_0/attention/wq`, come before all others where `name` is one of them without some
/// parts before the last, such as `wq` or `layer_0/wq`: up to three of them, and how many more there are.
/// A transposition counts as one edit, a letter in another case as none. A candidate is near if at most a
/// third of the name's letters (but at least one) differ; a name of one letter is near only to itself in the
/// other case.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// The same; if none is near, for the first candidate that begins with `name`, which has at least two letters.
std::string did_you_mean_word(std::string_view name, const std::vector<std::string>& candidates);

/// `'NAME', 'NAME' and 17 more`: a few of the candidates, those nearest to `name` first.
std::string nearest_listed(std::string_view name, const std::vector<std::string>& candidates,
                           size_t most = 4);

}  // namespace mtfc
