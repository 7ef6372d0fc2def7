#pragma once
// A ring inside a node: nothing is sent, since each member reads slices where they lie.

#include <memory>

#include "runtime/comm/node/node_collectives.h"
#include "runtime/comm/prepared_ring.h"

namespace mtfc {

/// The members of the group of `site` are those of the ring, in order.
std::unique_ptr<PreparedRing> node_ring(RingPlan plan, NodeSite site);

}  // namespace mtfc
