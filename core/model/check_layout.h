#pragma once
// The check that a layout is legal for a model.

#include "core/model/annotations.h"
#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// Throws UserError if a layout is not legal for a model. One error lists all rules for unknown dimensions; if there
/// are none, it lists all tensors with two dimensions over one axis and, unless `allow_uneven`, all rules whose axes
/// do not divide their dimension. A layout that propagates can split inputs and variables twice, and nothing else;
/// annotated tensors are no matter of the rules.
void check_layout(const Model& model, const Layout& layout, const Annotations& annotations, bool allow_uneven,
                  bool decodes = false);

}  // namespace mtfc
