#pragma once
// The bytes that a program sends between nodes, the groups of devices that share memory. Each element crosses to
// another node once, whatever the number of devices there that need it or add to it (runtime/comm/mpi/two_level.h):
//
//   all_reduce       n elements over k nodes, each of which reduces one piece: a node sends each other node its sum of
//                    that node's piece, and then its own finished piece, 2*n*(k-1)/k elements in all
//   reduce_scatter   each node sends its sum of every piece that a device of another node keeps
//   all_gather       each node sends its parts to each other node
//   other kinds      what devices send to devices of other nodes
//   rings            what a device passes on to a device of another node
//
// Example: an all_reduce of 8 f32 over p:4 with two devices on each node sends 32 bytes from each node.

#include <cstdint>
#include <vector>

#include "core/program/program.h"
#include "core/tensors/mesh.h"

namespace mtfc {

/// By rank, the number of its node, from 0.
using NodesOfRanks = std::vector<int>;
/// Nodes of `per_node` consecutive ranks; the last one may have fewer.
NodesOfRanks consecutive_nodes(int64_t ranks, int64_t per_node);
/// The same nodes, numbered from 0 in the order of their first ranks.
NodesOfRanks numbered_nodes(const std::vector<int>& nodes);

/// By node, the bytes that it sends to other nodes in one run of `entry`. Looks at each device for each different
/// collective.
std::vector<int64_t> bytes_between_nodes(const EntryPoint& entry, const Mesh& mesh,
                                         const NodesOfRanks& nodes);

}  // namespace mtfc
