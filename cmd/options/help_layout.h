#pragma once
// Help in lines that fit on a terminal. Words are not broken, except after a comma, `|` or `/` where they alone are
// longer than a line.
//
//   help_entry("--top N", "how many to show", 12, 24)     "  --top N   how many to"
//                                                         "            show"

#include <string>

namespace mtfc {

/// The words of `text` in lines of at most `width` characters, the first of which begins with `head` and the others
/// with `indent` blanks. Each line ends with a newline.
std::string help_words(const std::string& head, const std::string& text, size_t indent, size_t width);

/// A name, indented by two, and its description, which begins at `column`: beside the name, or below a long one.
std::string help_entry(const std::string& name, const std::string& description, size_t column, size_t width);

/// Lines of commands: one that is longer than `width` continues after a backslash.
std::string help_commands(const std::string& commands, size_t width);

/// The column at which descriptions begin in help of that width.
size_t help_column(size_t width);

}  // namespace mtfc
