#pragma once
// The processes of a test program that runs under the launcher: MPI is started once for all its tests.

#include "runtime/comm/mpi/node_memory.h"
#include "runtime/processes/processes.h"

namespace mtfc {

Processes& test_processes();
/// Simulates nodes of this many ranks, or uses the real ones for 0; made once for each number.
NodeMemory& test_node(int ranks_per_node = 0);

}  // namespace mtfc
