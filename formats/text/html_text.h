#pragma once
// Text that is safe inside HTML.

#include <string>
#include <string_view>

namespace mtfc {

/// `a &lt; b`, printable; also safe between quotation marks.
std::string html_escaped(std::string_view text);

}  // namespace mtfc
