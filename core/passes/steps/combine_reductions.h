#pragma once
// Sends small all_reduces that are under way together as one, because the cost of a small message hardly depends on its size.
//
//   start a   start b   kernel   start c   kernel   wait b   wait a   wait c
//                                start a, b, c      wait a, b, c
//
// An all_reduce joins the last one of its phase, axes, reduction and dtype, unless a value of that is awaited before it
// starts. So none of them can need the result of another.

#include <functional>

#include "core/program/partitioned_entry.h"

namespace mtfc {

/// `is_small` tells for the start of an all_reduce whether it is to travel with others.
PartitionedEntry combine_reductions(
    PartitionedEntry partitioned,
    const std::function<bool(const EntryPoint& entry, const Step& start)>& is_small, const Mesh& mesh);

}  // namespace mtfc
