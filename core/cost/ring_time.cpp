#include "core/cost/ring_time.h"

#include <algorithm>

#include "core/program/ring.h"

namespace mtfc {

double RingTime::seconds() const {
  if (!turn.overlaps) return product.seconds() + transfers_s();
  const double one = product.seconds() / members;
  return one + (members - 1) * std::max(one, turn.seconds());
}

RingTime ring_time(const EntryPoint& entry, const Step& step, const std::vector<MemoryAccess>& traffic,
                   const Mesh& mesh, const Hardware& hardware) {
  const Ring ring(entry, step, mesh);
  const AxisList& axes = ring.action().axes;
  const bool in_place =
      hardware.topology == Topology::kTwoLevel && lies_in_a_node(axes, mesh, hardware.devices_per_node);
  RingTime time;
  time.product = kernel_time(entry, step, traffic, mesh, hardware);
  time.members = static_cast<double>(ring.members());
  const double sent = static_cast<double>(ring.largest_cost().bytes_sent) / std::max(1.0, time.members - 1);
  time.turn = collective_time(CollectiveKind::kPermute, axes, mesh, in_place ? 0 : sent, hardware);
  return time;
}

}  // namespace mtfc
