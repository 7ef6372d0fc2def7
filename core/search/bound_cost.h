#pragma once
// The least time of a step, by the resource that is busy. Bounds of parts of a program add up.

#include <algorithm>

namespace mtfc {

struct BoundCost {
  double device = 0;  // kernels that are never fused, and collectives that kernels wait for
  /// The operations of steps that may be fused, and the memory traffic of these steps. It is not known which of the two
  /// limits a step, but the sum of either is below the time of all these steps.
  double fused_compute = 0, fused_memory = 0;
  double network = 0;  // collectives that kernels overlap, one after the other

  double seconds() const { return std::max(device + std::max(fused_compute, fused_memory), network); }
  void add(const BoundCost& other, double times = 1) {
    device += times * other.device;
    fused_compute += times * other.fused_compute;
    fused_memory += times * other.fused_memory;
    network += times * other.network;
  }
  /// The least of each.
  void lower_to(const BoundCost& other) {
    device = std::min(device, other.device);
    fused_compute = std::min(fused_compute, other.fused_compute);
    fused_memory = std::min(fused_memory, other.fused_memory);
    network = std::min(network, other.network);
  }
};

}  // namespace mtfc
