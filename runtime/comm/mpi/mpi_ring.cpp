#include "runtime/comm/mpi/mpi_ring.h"

#include <utility>

#include "runtime/processes/mpi_calls.h"

namespace mtfc {
namespace {

constexpr int kTag = 0;

class MpiRing : public PreparedRing {
 public:
  MpiRing(RingPlan plan, MPI_Comm comm, const Arena& arena, const Waiting& waiting)
      : PreparedRing(std::move(plan)), comm_(comm), arena_(arena), waiting_(waiting) {}

  const std::byte* take(size_t turn) override {
    if (turn == 0) return arena_.at(plan().operand_offset);
    wait_for(receive_, waiting_, plan().ranks);
    wait_for(send_, waiting_, plan().ranks);
    return inbox(turn - 1);
  }

  void progress() override {
    int done = 0;
    check_mpi(MPI_Test(&receive_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    check_mpi(MPI_Test(&send_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }

 private:
  // The place for the slice that arrives while this device passes on the slice of `turn`.
  std::byte* inbox(size_t turn) const { return arena_.at(plan().inboxes[turn % plan().inboxes.size()]); }

  void send(size_t turn, const std::byte* slice) override {
    check_mpi(MPI_Irecv_c(inbox(turn), plan().bytes(turn + 1), MPI_BYTE, static_cast<int>(plan().next()),
                          kTag, comm_, &receive_),
              "MPI_Irecv_c");
    check_mpi(MPI_Isend_c(slice, plan().bytes(turn), MPI_BYTE, static_cast<int>(plan().previous()), kTag,
                          comm_, &send_),
              "MPI_Isend_c");
  }

  const MPI_Comm comm_;
  const Arena& arena_;
  const Waiting waiting_;
  MPI_Request receive_ = MPI_REQUEST_NULL, send_ = MPI_REQUEST_NULL;
};

}  // namespace

std::unique_ptr<PreparedRing> mpi_ring(RingPlan plan, MPI_Comm comm, const Arena& arena,
                                       const Waiting& waiting) {
  return std::make_unique<MpiRing>(std::move(plan), comm, arena, waiting);
}

}  // namespace mtfc
