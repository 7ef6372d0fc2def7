#pragma once
// Text from files, and numbers of tensors, on their way to a terminal. Everything that people read, as errors, tables,
// the text of a program or a drawing of it, passes names through printable(); JSON has escapes of its own, and HTML
// too.

#include <string>
#include <string_view>

namespace mtfc {

/// `text` with everything escaped that could move the cursor, switch colours, end the line or reverse the
/// order of letters: control characters (`\n`, `\x1b`, `\u0085`), separators of lines, controls of the
/// direction of writing (`\u202e`), and bytes that are not UTF-8 (`\xff`). All other text stays as it is.
std::string printable(std::string_view text);

/// The number in the fewest digits that give it back, or in `digits` significant ones at most. A NaN is `nan` with
/// either sign, which means nothing: whether it is set depends on the processor.
std::string number_text(double value, int digits = 0);

}  // namespace mtfc
