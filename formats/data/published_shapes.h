#pragma once
// The shapes that tensors have in published files: files keep some of a variable's dimensions as one, such as the heads
// and the elements of each of them.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/data/name_map.h"

namespace mtfc {

/// A tensor as published files have it.
struct PublishedTensor {
  std::string name;
  Placement placement;
  std::vector<int64_t> shape;
};

/// The tensors that hold the variables, by a map. `merged`: dimensions that are one in files where they follow each
/// other. Throws UserError as NameMap::tensors_of() does, and if the variables of one tensor do not fit together.
std::vector<PublishedTensor> published_tensors(const NameMap& map, const std::vector<VariableDecl>& variables,
                                               const std::vector<std::string>& merged);

}  // namespace mtfc
