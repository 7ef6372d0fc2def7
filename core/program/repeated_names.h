#pragma once
// The names of what a `repeat` makes, without the numbers of the repetitions.
//
//   layers_12/ffn/inner                                          -> layers_*/ffn/inner
//   layers_0/ffn/inner, layers_1/ffn/inner, layers_2/ffn/inner   -> layers_{0..2}/ffn/inner

#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// Replaces the number at the end of each component of `name` by `*` where it follows a `_` that is not all of the
/// rest.
std::string unnumbered(std::string_view name);

/// The numbers that unnumbered() leaves out: `12`, and `3/0` for two components; "" if there are none.
std::string repetition(std::string_view name);

/// One text for names that have one unnumbered() form. Braces hold the numbers of a component: `layers_{0..11}/q`,
/// `layers_{0,2,5..7}/q`; a number that all names share stands alone, so that a single name stays as it is. If several
/// components have different numbers, and the names are not every combination of them, these components are unnumbered.
/// Neither order nor repetition of the names matters; no names give "". Throws InternalError if the forms differ.
std::string folded(const std::vector<std::string>& names);

}  // namespace mtfc
