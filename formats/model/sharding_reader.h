#pragma once
// Reads the key "sharding" of an input, a variable or an operation: an annotation, which names axes of a mesh that the
// model does not know.

#include <string>
#include <vector>

#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

/// If the declaration or operation at `at` has a "sharding", adds it to the annotations of the model for the tensors
/// `names`, each of which has the dimensions at the same place in `dims`. A dimension that none of the tensors has, and
/// an axis that is named twice, are errors.
void read_sharding(const Cursor& at, const std::vector<std::string>& names, const std::vector<Dims>& dims,
                   ModelDraft& draft);

}  // namespace mtfc
