#pragma once
// Small all_reduces that are under way together, as one message: what it costs to send one hardly depends on
// its size.
//
//   start a   start b   kernel   start c   kernel   wait b   wait a   wait c
//   pack a    pack b             pack c, send       one wait for all
//
// An all_reduce joins the last batch where nothing of that is awaited before it starts.

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

  /// Whether an all_reduce is so small that it goes along with others.
  static bool takes(const CollectivePlan& plan);
  /// The all_reduce of the steps `start` and `wait`; in order of `start`.
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
