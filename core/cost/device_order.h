#pragma once
// The choice of the axis inside a node. On two-level hardware, consecutive ranks share a node, so the minor
// axes of a mesh stay inside. Another order of the axes in the ranks may send less between nodes.
//
//   rows:2,cols:4, nodes of 2, most is sent over rows
//   ->  axes cols,rows, device order 0,2,4,6,1,3,5,7
//       ranks 0 and 1 are neighbours along rows and share a node

#include <optional>
#include <string>
#include <vector>

#include "core/cost/cost.h"

namespace mtfc {

/// The mesh in every order of devices in which a program for it may be costed: its own, and those that
/// propose_device_order() compares it with.
std::vector<Mesh> possible_orders(const Mesh& mesh, const Hardware& hardware);

struct ProposedOrder {
  std::vector<std::string> axes;  // from the axis between nodes to the one inside
  std::vector<int64_t> device_order;
  double step_s = 0;  // predicted
};

/// The order of the axes with the shortest predicted step, if that is at least 1 % shorter than with the
/// program's own order. Only for two-level hardware, and for meshes of 2 to 5 axes without a device order.
std::optional<ProposedOrder> propose_device_order(const Program& program, const EntryPoint& entry,
                                                  const std::vector<StepCount>& counts,
                                                  const Hardware& hardware);

}  // namespace mtfc
