#pragma once
// Small all_reduces that are under way together, sent as one message: the cost of a small message hardly
// depends on its size.
//
//   start a   start b   kernel   start c   kernel   wait b   wait a   wait c
//   pack a    pack b             pack c, send       one wait for all
//
// An all_reduce joins the last batch unless a member of that batch is awaited before it starts.

#include <cstdint>
#include <memory>

#include "runtime/comm/prepared_collective.h"
#include "runtime/comm/transfer.h"
#include "runtime/memory/arena.h"
#include "runtime/processes/mpi_calls.h"

namespace mtfc {

class MpiBatches {
 public:
  MpiBatches(const Arena& arena, const Waiting& waiting) : arena_(arena), waiting_(waiting) {}

  /// Returns whether an all_reduce is small enough to travel with others.
  static bool takes(const CollectivePlan& plan);
  /// The all_reduce of the steps `start` and `wait`; must be called in order of `start`.
  std::unique_ptr<PreparedCollective> add(const CollectivePlan& plan, MPI_Comm comm, MPI_Op op, int start,
                                          int wait);

 private:
  struct Batch;
  class Part;
  bool fits(const CollectivePlan& plan, MPI_Comm comm, MPI_Op op, int start) const;

  const Arena& arena_;
  Waiting waiting_;
  std::shared_ptr<Batch> last_;
};

}  // namespace mtfc
