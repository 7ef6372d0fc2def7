#pragma once
// Keeps one copy of an activation, not two, where the backward pass reads both a tensor and its shards with halos.
//
//   start exchange(y) -> y@h/p~           start exchange(y) -> y@h/p~
//   z = conv(y@h/p~, w)                   z = conv(y@h/p~, w)                 y ends here
//   ...                                   ...
//   dy = relu's gradient(y, dz)           y@again = slice(y@h/p~)
//   dw = conv(y@h/p~, dz)                 dy = relu's gradient(y@again, dz)
//                                         dw = conv(y@h/p~, dz)
//
// A shard with halos is a little larger than the shard, and holds it, so each device can copy the shard out of it.

#include "core/program/partitioned_entry.h"

namespace mtfc {

/// Tensors of less than 1 MiB on a device stay as they are: a copy would cost more than it saves.
PartitionedEntry reuse_halos(PartitionedEntry partitioned, const Mesh& mesh);

}  // namespace mtfc
