#pragma once
// The time of one run of a collective: a fixed time, latency for each message of its algorithm, and its bytes at the
// bandwidth of its link. The topology decides how they add up.
//
//   over one axis of g devices   all_reduce      fixed + 2*(g-1)*alpha + bytes/bandwidth
//                                the other kinds   fixed + (g-1)*alpha + bytes/bandwidth * distance
//   over several axes            one after the other: each its own latency, the bytes at the slowest
//   two_level                    within a node its own link; across nodes each element travels once to each node
//                                (runtime/comm/mpi/two_level.h). A last node with fewer members than the others is the
//                                slowest: its few members exchange as much with the other nodes as all members of a
//                                larger node together. With wider levels, nodes are the members of the next level.
//
// Example: an all_gather over 4 devices, each of which sends 3 MB at 1 GB/s with alpha = 10 us, takes
// 3 * 10 us + 3 ms = 3.03 ms.

#include <cstddef>

#include "core/cost/hardware.h"
#include "core/program/program.h"

namespace mtfc {

struct CollectiveTime {
  double latency_s = 0;  // with the fixed time
  double transfer_s = 0;
  double own_s =
      0;  // of the device itself after its messages: copies within a node whose link does not overlap
  double ideal_s = 0;  // the bytes at the best bandwidth of the link; without those of own_s
  bool overlaps = true;
  double slows_kernels = 1, slowed_by_kernels = 1;
  /// The widest level that its group spreads over, from 0 within a node on. Levels have networks of their own; other
  /// topologies have one network, 0.
  size_t level = 0;

  double seconds() const { return latency_s + transfer_s + own_s; }
};

/// `bytes` are those that a device sends. Throws UserError if the profile has no link for an axis.
CollectiveTime collective_time(CollectiveKind kind, const AxisList& axes, const Mesh& mesh, double bytes,
                               const Hardware& hardware);

/// The time to copy the operands of an all_reduce of several values, `bytes` in all, into one buffer and the results
/// out of it.
double packing_seconds(int64_t bytes, const Hardware& hardware);

/// The time of all transfers of a ring, whose devices send as much as for an all_gather, each to its neighbour alone.
CollectiveTime ring_transfers(const AxisList& axes, const Mesh& mesh, double bytes, const Hardware& hardware);

/// The groups of a mesh use the networks of so many levels at most.
size_t most_networks(const Mesh& mesh, const Hardware& hardware);

/// True if all devices of each group over `axes` have ranks of one node.
bool lies_in_a_node(const AxisList& axes, const Mesh& mesh, int64_t devices_per_node);

}  // namespace mtfc
