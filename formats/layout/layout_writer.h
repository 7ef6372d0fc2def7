#pragma once
// Writes layout files that --layout can read.

#include <string>

#include "core/tensors/layout.h"
#include "formats/layout/found_for.h"

namespace mtfc {

/// {"mesh": {"rows": 2}, "rules": [["batch", "rows"]]}, with the device order if the mesh has one, and with
/// `doc` if that is not empty, and with the sizes that the layout was found for.
std::string layout_json(const Layout& layout, const std::string& doc,
                        const std::optional<FoundFor>& found_for = std::nullopt);

}  // namespace mtfc
