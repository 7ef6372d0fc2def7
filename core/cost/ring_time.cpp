#include "core/cost/ring_time.h"

#include <algorithm>

#include "core/program/ring.h"

namespace mtfc {

double RingTime::seconds() const {
  if (!turn.overlaps) return product.seconds() + transfers_s();
  const double one = product.seconds() / members;
  return one + (members - 1) * std::max(one, turn.seconds());
}

RingTime ring_time(const EntryPoint& entry, const Step& step, const KernelTime& product, const Mesh& mesh,
                   const Hardware& hardware) {
  const Ring ring(entry, step, mesh);
  const AxisList& axes = ring.action().axes;
  const bool in_place =
      hardware.topology == Topology::kTwoLevel && lies_in_a_node(axes, mesh, hardware.devices_per_node);
  RingTime time;
  time.product = product;
  time.members = static_cast<double>(ring.members());
  const auto sent = static_cast<double>(in_place ? 0 : ring.largest_cost().bytes_sent);
  time.turn = ring_transfers(axes, mesh, sent, hardware);
  for (double* seconds : {&time.turn.latency_s, &time.turn.transfer_s, &time.turn.ideal_s})
    *seconds /= std::max(1.0, time.members - 1);
  return time;
}

}  // namespace mtfc
