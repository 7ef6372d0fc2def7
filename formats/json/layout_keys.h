#pragma once
// The keys of a layout, as reports and files have them.

#include "core/tensors/layout.h"
#include "formats/json/output_object.h"

namespace mtfc {

/// Of the mesh, the number of its devices, and the rules, as reports have them.
const OutputObject<Layout>& split_keys();
/// Of annotations, propagation, the sharding of the state of training, rings and the order of devices; none that is not
/// stated.
const OutputObject<Layout>& layout_keys();

}  // namespace mtfc
