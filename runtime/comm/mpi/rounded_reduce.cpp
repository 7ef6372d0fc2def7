#include "runtime/comm/mpi/rounded_reduce.h"

#include <algorithm>
#include <utility>

#include "core/tensors/bf16.h"
#include "runtime/comm/reduce.h"

namespace mtfc {

RoundedReduce::RoundedReduce(MPI_Comm comm, ReduceKind kind, std::vector<MPI_Count> counts)
    : comm_(comm), kind_(kind), bytes_(std::move(counts)) {
  int self = 0;
  check_mpi(MPI_Comm_rank(comm, &self), "MPI_Comm_rank");
  self_ = static_cast<size_t>(self);
  const MPI_Count own = bytes_[self_];
  MPI_Aint place = 0;
  for (MPI_Count& bytes : bytes_) {
    bytes *= static_cast<MPI_Count>(sizeof(Bf16));
    places_.push_back(place);
    place += bytes;
  }
  arriving_bytes_.assign(bytes_.size(), bytes_[self_]);
  for (size_t m = 0; m < bytes_.size(); ++m)
    arriving_places_.push_back(static_cast<MPI_Aint>(m) * bytes_[self_]);
  arrived_.resize(bytes_.size() * static_cast<size_t>(bytes_[self_]));
  sums_.resize(static_cast<size_t>(own));
}

void RoundedReduce::exchange(const std::byte* operands, MPI_Request* request) {
  check_mpi(MPI_Ialltoallv_c(operands, bytes_.data(), places_.data(), MPI_BYTE, arrived_.data(),
                             arriving_bytes_.data(), arriving_places_.data(), MPI_BYTE, comm_, request),
            "MPI_Ialltoallv_c");
}

void RoundedReduce::reduce(std::byte* piece) {
  const auto* first = reinterpret_cast<const Bf16*>(arrived_.data());
  std::copy(first, first + sums_.size(), sums_.begin());
  for (size_t m = 1; m < bytes_.size(); ++m)
    combine_in_f32(kind_, arrived_.data() + arriving_places_[m], reinterpret_cast<std::byte*>(sums_.data()),
                   static_cast<int64_t>(sums_.size()));
  std::transform(sums_.begin(), sums_.end(), reinterpret_cast<Bf16*>(piece),
                 [](float sum) { return Bf16(sum); });
}

void RoundedReduce::gather(std::byte* all, MPI_Request* request) const {
  check_mpi(MPI_Iallgatherv_c(MPI_IN_PLACE, 0, MPI_BYTE, all, bytes_.data(), places_.data(), MPI_BYTE, comm_,
                              request),
            "MPI_Iallgatherv_c");
}

std::vector<MPI_Count> equal_pieces(int64_t count, size_t members) {
  const auto parts = static_cast<int64_t>(members);
  std::vector<MPI_Count> pieces;
  for (int64_t i = 0; i < parts; ++i) pieces.push_back(count / parts + (i < count % parts ? 1 : 0));
  return pieces;
}

}  // namespace mtfc
