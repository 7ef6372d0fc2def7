#pragma once
// Text broken into lines, for tables on a terminal.

#include <cstddef>
#include <string>

namespace mtfc {

/// `text` after `head`, broken into lines of `width` after one of `breaks` where it is too long. Further
/// lines are indented as far as `head` reaches. Ends with a newline.
std::string wrapped(const std::string& head, const std::string& text, const char* breaks, size_t width);

}  // namespace mtfc
