#pragma once
// Writes layout files that --layout can read.

#include <string>

#include "core/tensors/layout.h"

namespace mtfc {

/// {"mesh": {"rows": 2}, "rules": [["batch", "rows"]]}, with the device order if the mesh has one, and with
/// `doc` if that is not empty.
std::string layout_json(const Layout& layout, const std::string& doc);

}  // namespace mtfc
