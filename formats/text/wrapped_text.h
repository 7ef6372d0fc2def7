#pragma once
// Breaks text into lines, for tables on a terminal.

#include <cstddef>
#include <string>
#include <vector>

namespace mtfc {

/// `text` after `head`, broken into lines of at most `width` characters after one of `breaks`. Further lines
/// are indented by the length of `head`. Ends with a newline.
std::string wrapped(const std::string& head, const std::string& text, const char* breaks, size_t width);

/// Rows of words in columns of minimal width, two blanks between them: the first `flush_left` columns flush left, the
/// others flush right.
std::string columns(const std::vector<std::vector<std::string>>& rows, size_t flush_left,
                    const std::string& margin = "  ");

}  // namespace mtfc
