#pragma once
// A ring by messages, which travel while the executor multiplies if MPI moves them by itself, and otherwise at the ends
// of products.

#include <mpi.h>

#include "runtime/comm/prepared_ring.h"
#include "runtime/memory/arena.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {

/// `comm` spans the members, in order; it and the arena must outlive the result.
std::unique_ptr<PreparedRing> mpi_ring(RingPlan plan, MPI_Comm comm, const Arena& arena,
                                       const Waiting& waiting);

}  // namespace mtfc
