#pragma once
// How many threads a rank computes with. Our own loops and OpenBLAS (its OpenMP flavour) share one pool.

namespace mtfc {

/// Cores per rank on a node, at least 1.
int default_threads(int cores, int ranks);
void set_threads(int threads);
/// What was last set, or OpenMP's own default.
int threads();

}  // namespace mtfc
