#pragma once
// The conventions for calling MPI: every return code is checked, and nothing waits inside MPI. Only .cpp
// files that talk to MPI include this file, and mpi_exchange.h, which is for them too.

#include <mpi.h>

#include <cstdint>
#include <span>

#include "runtime/processes/processes.h"
#include "runtime/processes/watchdog.h"

namespace mtfc {

/// The communicator of the ranks of this rank's node, in ascending order; `processes` owns it.
struct NodeCommunicator {
  static MPI_Comm of(const Processes& processes);
};

/// Throws RunError with MPI's own message unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);
/// Tests `request` until it is complete; yields the core in between where `waiting` says so. `ranks` are those
/// that it depends on (all if empty). Throws WaitError naming the missing ranks if the wait exceeds the
/// watchdog's limit (runtime/processes/watchdog.h).
void wait_for(MPI_Request& request, const Waiting& waiting, std::span<const int64_t> ranks = {});

}  // namespace mtfc
