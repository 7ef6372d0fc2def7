#pragma once
// The number of threads that a rank computes with. Our own loops and OpenBLAS (its OpenMP build) share one
// pool.

namespace mtfc {

/// The number of cores per rank on a node, at least 1.
int default_threads(int cores, int ranks);
void set_threads(int threads);
/// The number last set, or OpenMP's default.
int threads();

}  // namespace mtfc
