#pragma once
// Fills weights that are stored as i8 with a scale for each row (core/rewrite/store_weights.h).

#include <string>

#include "core/tensors/data.h"
#include "runtime/execute/executor.h"

namespace mtfc {

/// Fills the shard `stored`, i8, of the tensor `name` from an array that require_loadable accepts for an f32 tensor of
/// its dimensions, and the device's shard of its scales. The scale of a row depends on the whole row, wherever devices
/// cut it. Throws RunError.
void load_scaled(const StoredArray& array, const std::string& name, const LocalShard& stored,
                 const LocalShard& scales);

}  // namespace mtfc
