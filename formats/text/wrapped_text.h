#pragma once
// Breaks text into lines, for tables on a terminal.

#include <cstddef>
#include <string>

namespace mtfc {

/// `text` after `head`, broken into lines of at most `width` characters after one of `breaks`. Further lines
/// are indented by the length of `head`. Ends with a newline.
std::string wrapped(const std::string& head, const std::string& text, const char* breaks, size_t width);

}  // namespace mtfc
