#pragma once
// How MPI is called here: every return code checked, nothing waited for inside MPI. Included by the .cpp
// files that talk to MPI, and by no header.

#include <mpi.h>

namespace mtfc {

/// Throws RunError with MPI's own words unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);
/// Tests until `request` is complete; yields the core in between where `yield` is set.
void wait_for(MPI_Request& request, bool yield);

}  // namespace mtfc
