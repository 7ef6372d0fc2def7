#pragma once
// The keys of a layout, as reports and files have them.

#include "core/tensors/layout.h"
#include "formats/json/output_object.h"

namespace mtfc {

/// The keys `mesh`, `devices` (their number) and `layout` (the rules), with which reports begin.
const OutputObject<Layout>& split_keys();
/// The keys of annotations, propagation, the sharding of the state of training, rings and the order of devices; only
/// those that the layout states.
const OutputObject<Layout>& layout_keys();

}  // namespace mtfc
