#pragma once
// Sends small all_reduces that are under way together as one, because the cost of a small message hardly depends on its
// size.
//
//   start a   start b   kernel   start c   kernel   wait b   wait a   wait c
//                                start a, b, c      wait a, b, c
//
// An all_reduce is small if it sends at most 32 KiB, which is what a collective costs beside its bytes
// (core/program/plan_figures.h). A profile has no say: a plan that is chosen for some hardware is compared with the
// plan of least cost, and both should send alike. An all_reduce joins the last one of its phase, axes, reduction and
// dtype, unless a value of that is awaited before it starts. So none of them can need the result of another.

#include "core/program/partitioned_entry.h"

namespace mtfc {

PartitionedEntry combine_reductions(PartitionedEntry partitioned, const Mesh& mesh);

}  // namespace mtfc
