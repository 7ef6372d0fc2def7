#pragma once
// The names of what a `repeat` makes, without the numbers of the repetitions.
//
//   layers_12/ffn/inner -> layers_*/ffn/inner

#include <string>
#include <string_view>

namespace mtfc {

/// Replaces the number at the end of each component of `name` by `*` where it follows a `_` that is not all of the rest.
std::string unnumbered(std::string_view name);

}  // namespace mtfc
