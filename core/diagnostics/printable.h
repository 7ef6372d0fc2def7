#pragma once
// Text from files on its way to a terminal. Everything that people read, as errors, tables, the text of a
// program or a drawing of it, passes names through printable(); JSON has escapes of its own, and HTML too.

#include <string>
#include <string_view>

namespace mtfc {

/// `text` with everything escaped that could move the cursor, switch colours, end the line or reverse the
/// order of letters: control characters (`\n`, `\x1b`, `\u0085`), separators of lines, controls of the
/// direction of writing (`\u202e`), and bytes that are not UTF-8 (`\xff`). All other text stays as it is.
std::string printable(std::string_view text);

}  // namespace mtfc
