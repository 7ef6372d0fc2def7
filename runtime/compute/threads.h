#pragma once
// The threads that a rank computes with. Our own loops and OpenBLAS (its OpenMP build) share one pool.

#include <optional>

namespace mtfc {

/// The number of cores per rank on a node, at least 1.
int default_threads(int cores, int ranks);
/// Sets the number of threads, and lets the calling thread and the pool's threads flush denormal numbers.
void set_threads(int threads);
/// The number last set, or OpenMP's default.
int threads();

/// For how many seconds all threads of this process together have been ready to run while other work had the cores,
/// since it started; nothing where the system does not count it.
std::optional<double> seconds_without_core();

/// Makes the calling thread take denormal operands as 0 and give 0 for denormal results. Threads that it starts from
/// now on do so as well. Processors compute with denormal numbers up to a hundred times as slowly. Does nothing on
/// processors other than x86 and ARM.
void flush_denormals();

}  // namespace mtfc
