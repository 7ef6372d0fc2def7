#pragma once
// Collectives between ranks that share memory: every member loads from and stores to the others' arenas, so
// each element moves once and no message is sent.
//
// All kinds follow the same protocol: start publishes that the operand is ready; wait awaits the operands of all
// members, does this member's part of the work, publishes that it is done, and awaits that all are, because until then
// a neighbour may still read the operand or write the result. All arithmetic therefore happens in wait. If ranks share
// cores, any running rank may do the parts of a small collective (up to kSharedBytes), also those of members that have
// started it but do not wait for it yet. The plan (runtime/comm/transfer.h) says which elements move; how each kind
// moves them, and why a result may take the operand's place, is drawn beside it in the .cpp file.

#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/node/node_group.h"
#include "runtime/comm/prepared_collective.h"
#include "runtime/comm/transfer.h"

namespace mtfc {

/// The setting of a collective inside a node. The members of `group` are those of the plan, in order.
struct NodeSite {
  NodeGroup& group;
  std::vector<std::byte*> arenas;  // the members' arenas as this process sees them
  Idle idle;
};

/// The plans of all members for one collective.
struct GroupPlans {
  int64_t largest_result;                           // bytes, of any member
  std::function<CollectivePlan(size_t member)> of;  // makes a member's plan
};

/// Throws InternalError if the plan's workspace is too small.
std::unique_ptr<PreparedCollective> node_collective(const CollectivePlan& plan, NodeSite site,
                                                    const GroupPlans& plans);

}  // namespace mtfc
