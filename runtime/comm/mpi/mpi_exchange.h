#pragma once
// Collectives as messages: one non-blocking MPI call each, with large counts, packing members' parts that are
// not contiguous. For the .cpp files that talk to MPI.

#include <memory>

#include "runtime/comm/prepared_collective.h"
#include "runtime/comm/transfer.h"
#include "runtime/memory/arena.h"
#include "runtime/processes/mpi_calls.h"

namespace mtfc {

MPI_Datatype mpi_type_of(DType dtype);

/// `comm` is the plan's group, in order; `op` is the reduction of an all_reduce or a reduce_scatter. `yield`:
/// give the core away while waiting. Throws InternalError if the plan's workspace is too small.
std::unique_ptr<PreparedCollective> mpi_exchange(CollectivePlan plan, MPI_Comm comm, MPI_Op op,
                                                 const Arena& arena, const Waiting& waiting);

/// The collective of a group of one device: a copy.
std::unique_ptr<PreparedCollective> exchange_alone(CollectivePlan plan, const Arena& arena);

}  // namespace mtfc
