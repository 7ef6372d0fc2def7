#pragma once
// How many threads a rank computes with: our own loops and OpenBLAS share one OpenMP pool.

namespace mtfc {

/// Cores per rank on a node, at least 1.
int default_threads(int cores, int ranks);
void set_threads(int threads);

}  // namespace mtfc
