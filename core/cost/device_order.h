#pragma once
// Which axis goes inside a node: on hardware of two levels, consecutive ranks share a node, and the minor
// axes of a mesh are the ones that stay inside. Another order of the axes in the ranks may send less between
// nodes.
//
//   rows:2,cols:4, nodes of 2, most is sent over rows   ->   axes cols,rows: ranks 0 and 1 are neighbours
//   along device order 0,2,4,6,1,3,5,7                             rows, and share a node

#include <optional>
#include <string>
#include <vector>

#include "core/cost/cost.h"

namespace mtfc {

struct ProposedOrder {
  std::vector<std::string> axes;  // from the one between nodes to the one inside
  std::vector<int64_t> device_order;
  double step_s = 0;  // predicted
};

/// The order of the axes with the shortest predicted step, where that is at least 1 % shorter than with the
/// program's own order. Only for hardware of two levels, and for meshes of 2 to 5 axes without a device
/// order.
std::optional<ProposedOrder> propose_device_order(const Program& program, const EntryPoint& entry,
                                                  const std::vector<StepCount>& counts,
                                                  const Hardware& hardware);

}  // namespace mtfc
