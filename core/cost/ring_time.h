#pragma once
// The time of a ring (core/program/ring.h): its products, and between them the transfers of slices.
//
//   overlapping link   product  |--p--|--p--|---|--p--|--p--|      P = 4, s > p: p + 3 s
//                      transfer |---s---|---s---|---s---|
//   other links        one after the other: 4 p + 3 s
//   within a node      slices are read in place: 4 p, and 3 latencies

#include "core/cost/collective_time.h"
#include "core/cost/kernel_time.h"

namespace mtfc {

struct RingTime {
  KernelTime product;   // of all turns
  CollectiveTime turn;  // the transfer of one slice
  double members = 1;   // as many turns; one transfer fewer

  double transfers_s() const { return (members - 1) * turn.seconds(); }
  double seconds() const;
};

/// `product` is the kernel_time() of the step.
RingTime ring_time(const EntryPoint& entry, const Step& step, const KernelTime& product, const Mesh& mesh,
                   const Hardware& hardware);

}  // namespace mtfc
