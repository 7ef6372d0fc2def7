#pragma once
// Patterns of tensor names, as annotations use them: `*` stands for any characters but '/', `**` for any characters.
//
//   layer_*/moe/wi    matches layer_0/moe/wi, but not layer_0/a/moe/wi
//   **/wi             matches layer_0/moe/wi and encoder/layer_0/wi, but not wi

#include <string_view>

namespace mtfc {

/// The pattern that matches every name.
inline constexpr std::string_view kEveryName = "**";

/// True if the text contains a `*`. Otherwise it is the name of one tensor.
bool is_name_pattern(std::string_view text);

/// True if the name matches the pattern. A pattern without `*` matches only the name equal to it.
/// Takes time in proportion to the product of the lengths, for any pattern.
bool matches_name(std::string_view pattern, std::string_view name);

}  // namespace mtfc
