#pragma once
// How MPI is called here: every return code checked, nothing waited for inside MPI. Included by the .cpp
// files that talk to MPI, and by no header but mpi_exchange.h, which is for them too.

#include <mpi.h>

#include <cstdint>
#include <span>

#include "runtime/processes/watchdog.h"

namespace mtfc {

/// Throws RunError with MPI's own words unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);
/// Tests until `request` is complete. `ranks`: those it depends on (all where empty). Throws WaitError naming
/// who is missing when it lasts too long.
void wait_for(MPI_Request& request, const Waiting& waiting, std::span<const int64_t> ranks = {});

}  // namespace mtfc
