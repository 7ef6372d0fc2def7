#pragma once
// The version of this program.

#include <string>

namespace mtfc {

/// `mtfc 0.1.0`.
std::string version_text();

}  // namespace mtfc
