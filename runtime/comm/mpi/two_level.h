#pragma once
// Collectives of groups with several members on a node, in two levels: inside a node members use the memory that they
// share, and messages carry to each other node, once, what its members lack. All members of a node send, each a share:
//
//   nodes            X: a b                     Y: c d
//   all_reduce       a and c add up the first half of the elements over their nodes, exchange it, and write the
//                    result to b and to d; b and d do the same with the second half. Large halves go in chunks.
//   reduce_scatter   a adds up, over X, the piece that c keeps, and sends it to c; b does so for d
//   all_gather       a sends its part to c, b sends its to d; then c and d copy each other's
//   other kinds      a sends c and d what they get from it, and b copies what it gets from a
//
// Messages move between the kernels of a member, and while it waits for members of its node or for another of these
// collectives. Each collective has tags of its own, so messages of several collectives may be sent in any order.

#include <mpi.h>

#include <memory>
#include <vector>

#include "runtime/comm/node/node_collectives.h"
#include "runtime/comm/prepared_collective.h"
#include "runtime/comm/transfer.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {

/// The nodes of a group's members.
struct GroupNodes {
  std::vector<std::vector<size_t>> members;  // of each node, by index in the group, ascending
  size_t here = 0;                           // the node of this device
  size_t position = 0;                       // of this device among the members of its node

  size_t fewest() const;  // members of a node
  size_t most() const;
  /// The member of `node` that exchanges messages with the members at `position` of other nodes.
  size_t counterpart(size_t node, size_t at) const { return members[node][at % members[node].size()]; }
};

/// `node_of`: by rank.
GroupNodes group_nodes(const CollectivePlan& plan, const std::vector<int>& node_of);

/// The messages of a collective.
struct NodeMessages {
  GroupNodes nodes;
  MPI_Comm comm;  // of the whole group, in order
  int tag = 0;    // this one and the next belong to the collective
  Waiting waiting;
};

/// Returns whether two_level() can do this collective. It cannot do a reduce_scatter whose workspace is too small, or
/// after which several members hold the same piece. All members of a group get the same answer.
bool has_two_levels(const CollectivePlan& plan, const GroupNodes& nodes);
std::unique_ptr<PreparedCollective> two_level(const CollectivePlan& plan, NodeSite site,
                                              NodeMessages messages);

}  // namespace mtfc
