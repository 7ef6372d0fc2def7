#pragma once
// Layout files, as --layout reads them.

#include <string>

#include "core/tensors/layout.h"

namespace mtfc {

/// {"mesh": {"rows": 2}, "rules": [["batch", "rows"]]}, with the device order where the mesh has one, and
/// with `doc` where there is something to say of it.
std::string layout_json(const Layout& layout, const std::string& doc);

}  // namespace mtfc
