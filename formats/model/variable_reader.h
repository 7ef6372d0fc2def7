#pragma once
// Reads a member of a model's or a block's `variables` into a leaf of the graph and a declaration in the
// model.

#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

/// Defines the variable under its full name; a failed one has a name but no tensor. In `decode` only caches
/// are new: any other variable is the model's variable of that name, and must have the same type.
void read_variable(const NamedCursor& variable, ModelDraft& draft);
/// Reads a member of the `variables` of `decode`, which is a cache whether or not it says so.
void read_cache(const NamedCursor& variable, ModelDraft& draft);

}  // namespace mtfc
