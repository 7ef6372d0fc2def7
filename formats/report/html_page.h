#pragma once
// The frame of every HTML report: its style, for screens from phone to desktop, light and dark, and for paper; and its
// script, by which tables are sorted and filtered. The report is complete without the script. Nothing is loaded from
// elsewhere.

#include <string_view>

namespace mtfc {

/// Colours are the classes c1 to c15, of bars as of drawings; html_parts.h says what they mean. `bad` and c5 are red,
/// for what is beyond a limit alone. What has the class `screen` is left out on paper, and
/// `paper` on screens.
std::string_view html_style();
std::string_view html_script();

}  // namespace mtfc
