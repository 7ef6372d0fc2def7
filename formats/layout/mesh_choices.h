#pragma once
// Meshes with open sizes, as in `rows:*,cols:*`, and all ways to fill them with a given number of devices.
//
//   rows:*,cols:*  8 devices   ->   rows:1,cols:8  rows:2,cols:4  rows:4,cols:2  rows:8,cols:1

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtfc {

/// The short forms of all meshes that `text` can mean; `text` itself if it has no open sizes. Throws
/// UserError for a text that is not a mesh, for open sizes without `devices`, and for a mesh that can't have
/// that many devices.
std::vector<std::string> mesh_choices(std::string_view text, std::optional<int64_t> devices);

}  // namespace mtfc
