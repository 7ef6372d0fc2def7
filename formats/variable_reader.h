#pragma once
// A member of `variables`, of a model or of a block: into a leaf of the graph and a declaration in the model.

#include "formats/cursor.h"
#include "formats/model_draft.h"

namespace mtfc {

/// Defines the variable, under its full name; one that fails has a name but no tensor.
void read_variable(const NamedCursor& variable, ModelDraft& draft);

}  // namespace mtfc
