#pragma once
// Lower bounds of times, whatever the program around a kernel or a collective looks like.
//
// Memory: of the bytes that a step touches, those touched last by the step before it have at least their own number as
// distance, those touched last by an earlier step have at least that many more, and so on. So b bytes never take less
// than the integral of 1/bandwidth over distances from 0 to b.
//
//   bandwidth 100 GB/s up to 1 MB, 10 GB/s beyond     2 MB take at least 10 us + 100 us

#include <cstdint>
#include <vector>

#include "core/cost/hardware.h"
#include "core/program/collective_kinds.h"
#include "core/tensors/mesh.h"

namespace mtfc {

/// Seconds that bytes take at least, by their number.
class LeastTransfer {
 public:
  explicit LeastTransfer(const Curve& bandwidth);
  double seconds(double bytes) const;

 private:
  Curve bandwidth_;
  std::vector<double> until_;    // seconds up to each size of the grid
  std::vector<double> fastest_;  // the best bandwidth from each size on
};

class LeastTimes {
 public:
  /// The references must outlive it. A mesh without a device order stands for all orders that
  /// core/cost/device_order.h may propose for it.
  LeastTimes(const Hardware& hardware, const Mesh& mesh);

  /// Bytes that a kernel step touches; `writes` without reading them.
  double memory_seconds(double bytes, bool writes) const;

  struct Transfer {
    /// Seconds in which kernels may run. The collectives of several levels may run at the same time, so that the level
    /// with most to do takes at least all their time over the number of levels.
    double network = 0;
    double device = 0;  // seconds of the device itself
  };
  /// Exactly this collective, in the best order of devices.
  Transfer collective(CollectiveKind kind, const AxisList& axes, double bytes) const;
  /// A device sends at least so many bytes, by collectives of any of these kinds, each over `axis` and maybe others.
  Transfer through_axis(const std::vector<CollectiveKind>& kinds, int axis, double bytes) const;

 private:
  const Hardware& hardware_;
  std::vector<Mesh> orders_;
  size_t networks_ = 1;
  LeastTransfer read_, write_;
  bool grows_ = true;  // more bytes never take less time
};

}  // namespace mtfc
