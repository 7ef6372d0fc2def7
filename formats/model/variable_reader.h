#pragma once
// Reads a member of a model's or a block's `variables` into a leaf of the graph and a declaration in the
// model; an input becomes such a leaf, too.

#include "formats/json/cursor.h"
#include "formats/model/model_draft.h"

namespace mtfc {

/// Defines the variable under its full name; a failed one has a name but no tensor. In `decode` only caches
/// are new: any other variable is the model's variable of that name, and must have the same type.
void read_variable(const NamedCursor& variable, ModelDraft& draft);
/// Reads a member of the `variables` of `decode`, which is a cache whether or not it says so.
void read_cache(const NamedCursor& variable, ModelDraft& draft);
/// Adds an input, whose name is defined, with this type and with the sharding that it states.
void add_input(const NamedCursor& input, const TensorType& type, ModelDraft& draft);

}  // namespace mtfc
