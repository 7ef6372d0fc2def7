#pragma once
// Collectives between ranks that share memory: every member loads from and stores to the others' arenas, so
// that each element moves once and no message is sent.
//
// The protocol is the same for all: start publishes that the operand is ready; wait awaits the operands of
// all, does this member's part of the work, publishes that it is done, and awaits that all are, because until
// then a neighbour may still read the operand or write the result. All arithmetic therefore happens in wait.
// Where ranks share cores, an all_reduce's parts are not each member's own: who has a core takes the next
// one. Which elements to move is what the plan says (runtime/comm/transfer.h); how each kind goes about it, and
// why a result may take the operand's place, is drawn beside it in the .cpp file.

#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/node/node_group.h"
#include "runtime/comm/prepared_collective.h"
#include "runtime/comm/transfer.h"

namespace mtfc {

/// Where a collective inside a node takes place. The members of `group` are those of the plan, in order.
struct NodeSite {
  NodeGroup& group;
  std::vector<std::byte*> arenas;  // of the members, as this process sees them
  Idle idle;
};

/// Throws InternalError where the plan's workspace is too small.
std::unique_ptr<PreparedCollective> node_collective(const CollectivePlan& plan, NodeSite site);

/// An all_reduce of which `site` holds only the members on this node. It is reduced inside the node first, in
/// shares of which the first `carriers` members (equally many on every node) have one each; `across` then
/// reduces a share of `count` elements, in place, with the same carrier of each other node.
struct OtherNodes {
  size_t carriers = 0;
  std::function<void(std::byte* share, int64_t count)> across;
};
std::unique_ptr<PreparedCollective> two_level_all_reduce(const CollectivePlan& plan, NodeSite site,
                                                         OtherNodes others);

}  // namespace mtfc
