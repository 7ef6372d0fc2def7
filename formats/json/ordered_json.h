#pragma once
// JSON as the writers of this folder make it: keys in the order they were added, lists one element a line.

#include <nlohmann/json.hpp>
#include <string>

#include "core/tensors/layout.h"
#include "core/tensors/mesh.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

using Json = nlohmann::ordered_json;

/// {"rows": 2}
Json json_of(const Mesh& mesh);
/// {"batch": ["rows"]}
Json json_of(const Layout& layout);
/// {"batch": 100}, in the order of the dimensions
Json json_of(const Dims& dims);
/// The split dimensions: {"batch": ["rows"]}
Json json_of(const Dims& dims, const Sharding& sharding, const Mesh& mesh);
/// {"rows": "sum"}
Json partial_json(const Sharding& sharding, const Mesh& mesh);
/// ["rows", "cols"]
Json json_of(const AxisList& axes, const Mesh& mesh);
/// A number, or "inf", "-inf", "nan", which JSON has no numbers for.
Json real_json(double value);

/// Objects and lists spread over lines down to `depth`, compact below: a line per step, easy to compare.
std::string dump_lines(const Json& value, int depth);

}  // namespace mtfc
