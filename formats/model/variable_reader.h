#pragma once
// A member of `variables`, of a model or of a block: into a leaf of the graph and a declaration in the model.

#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

/// Defines the variable, under its full name; one that fails has a name but no tensor. In `decode` only
/// caches are new: other variables are those of that name in the model, and must be of the same type.
void read_variable(const NamedCursor& variable, ModelDraft& draft);
/// A member of the `variables` of `decode`, which are caches whether or not they say so.
void read_cache(const NamedCursor& variable, ModelDraft& draft);

}  // namespace mtfc
