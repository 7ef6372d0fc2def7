#pragma once
// Presets: layouts for any model and any mesh whose axes have the names that they know.
//
//   {"rules": [["batch", "data"], ["heads", "model"], ["experts", "expert", {"in": "**"}]], "zero": 3}
//
// An axis that the mesh lacks is left out of a rule, and so is a rule without axes, or for a dimension that the model
// lacks, or that the command line has a rule for.

#include "core/tensors/layout.h"
#include "formats/json/cursor.h"
#include "formats/layout/layout_reader.h"

namespace mtfc {

/// Adds the rules of `preset` to a layout whose mesh is known, those between parts only if `with_between`, and its
/// stage of ZeRO if `extras` has none. Records an error if the mesh has an axis that the preset does not know.
void add_preset(const Cursor& preset, bool with_between, Layout& layout, LayoutExtras& extras);

/// Removes the rules of a preset for dimensions that are not in `known`.
void remove_unknown(const LayoutExtras& extras, const Dims& known, Layout& layout);

}  // namespace mtfc
