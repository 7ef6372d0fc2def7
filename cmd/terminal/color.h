#pragma once
// Colours on a terminal. They are switched off by --no-color, by NO_COLOR, and where a stream does not end at a
// terminal.

namespace mtfc {

/// Sets whether the streams show colours from now on; before the first call they show none.
void set_colors(bool standard_output, bool standard_error);
/// Returns whether standard output, 1, or standard error, 2, shows colours.
bool has_colors(int stream);

}  // namespace mtfc
