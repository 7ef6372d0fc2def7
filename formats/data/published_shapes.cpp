#include "formats/data/published_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/diagnostics/error.h"

namespace mtfc {
namespace {

std::vector<int64_t> merged_shape(const Dims& dims, size_t first, const std::vector<std::string>& merged) {
  std::vector<int64_t> shape;
  bool joins = false;
  for (size_t i = first; i < dims.size(); ++i) {
    const bool is_merged = std::find(merged.begin(), merged.end(), dims[i].name) != merged.end();
    if (is_merged && joins)
      shape.back() *= dims[i].size;
    else
      shape.push_back(dims[i].size);
    joins = is_merged;
  }
  return shape;
}

}  // namespace

std::vector<PublishedTensor> published_tensors(const NameMap& map, const std::vector<VariableDecl>& variables,
                                               const std::vector<std::string>& merged) {
  std::map<std::string, const Dims*> dims;
  for (const VariableDecl& variable : variables) dims[variable.name] = &variable.type.dims;
  std::vector<PublishedTensor> tensors;
  for (NamedPlacement& placed : map.tensors_of(variables)) {
    const Placement& placement = placed.placement;
    std::vector<int64_t> shape;
    for (const std::string& variable : placement.variables) {
      const std::vector<int64_t> own = merged_shape(*dims.at(variable), placement.index ? 1 : 0, merged);
      if (&variable == &placement.variables.front()) {
        shape = own;
        continue;
      }
      if (own.empty() || own.size() != shape.size() ||
          !std::equal(own.begin() + 1, own.end(), shape.begin() + 1))
        throw UserError(
            fmt::format("'{}' can't be rows of one tensor '{}': [{}] and [{}] differ in more than "
                        "their first sizes",
                        fmt::join(placement.variables, "' and '"), placed.name, fmt::join(shape, ", "),
                        fmt::join(own, ", ")));
      shape.front() += own.front();
    }
    tensors.push_back({std::move(placed.name), std::move(placed.placement), std::move(shape)});
  }
  return tensors;
}

}  // namespace mtfc
