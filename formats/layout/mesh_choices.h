#pragma once
// Meshes with sizes left open, as in `rows:*,cols:*`, and every way to fill them with so many devices.
//
//   rows:*,cols:*  8 devices   ->   rows:1,cols:8  rows:2,cols:4  rows:4,cols:2  rows:8,cols:1

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// The short forms of all meshes that `text` may mean; `text` itself where it leaves nothing open. Throws
/// UserError for a text that is no mesh, open sizes without `devices`, and a mesh that can't have so many.
std::vector<std::string> mesh_choices(std::string_view text, std::optional<int64_t> devices);

}  // namespace mtfc
