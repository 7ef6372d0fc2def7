#pragma once
// Reductions of bf16 by messages. MPI knows no bf16, and adding pair by pair would round every sum on the way, so
// members exchange their operands; each reduces its piece in f32, in the order of members, and rounds once:
//
//   before    A: a0 a1    B: b0 b1
//   exchange  A: a0 b0    B: a1 b1
//   reduce    A: a0 + b0  B: a1 + b1
//   gather    both: a0 + b0, a1 + b1      as many bytes as an all_reduce in rings
//
// The gather starts only when a device waits for the result, so half of the bytes move while it computes. The three
// steps are called in this order, and every member of the communicator posts its requests in the same order.

#include <cstddef>
#include <vector>

#include "core/tensors/sharding.h"
#include "runtime/processes/mpi_calls.h"

namespace mtfc {

class RoundedReduce {
 public:
  /// `counts` are the elements of each member's piece, in the order of the communicator.
  RoundedReduce(MPI_Comm comm, ReduceKind kind, std::vector<MPI_Count> counts);

  /// Sends every member the operand of its piece. The pieces lie one after another at `operands`, which stays unchanged
  /// until the request is complete.
  void exchange(const std::byte* operands, MPI_Request* request);
  /// Reduces what has arrived to this member's piece.
  void reduce(std::byte* piece);
  /// Collects all pieces at `all`, where this member's one already lies in its place.
  void gather(std::byte* all, MPI_Request* request) const;

  /// The place of this member's piece among all, in bytes.
  int64_t own_place() const { return places_[self_]; }

 private:
  MPI_Comm comm_;
  ReduceKind kind_;
  size_t self_ = 0;
  std::vector<MPI_Count> bytes_;           // of each member's piece
  std::vector<MPI_Aint> places_;           // likewise
  std::vector<MPI_Count> arriving_bytes_;  // of this member's piece, from each member
  std::vector<MPI_Aint> arriving_places_;
  std::vector<std::byte> arrived_;
  std::vector<float> sums_;
};

/// `count` elements in as many pieces as there are members, as equal as can be.
std::vector<MPI_Count> equal_pieces(int64_t count, size_t members);

}  // namespace mtfc
