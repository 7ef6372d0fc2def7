#include "runtime/comm/mpi/mpi_batches.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/diagnostics/error.h"
#include "runtime/comm/mpi/mpi_exchange.h"

namespace mtfc {
namespace {

// Above these sizes, the copies and the delay cost more than a message saves.
constexpr int64_t kLargestPart = int64_t{1} << 14;
constexpr int64_t kLargestBatch = int64_t{1} << 16;

int64_t bytes_of(const CollectivePlan& plan) {
  return plan.input.elements() * size_of(plan.dtype);
}

}  // namespace

struct MpiBatches::Batch {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int64_t> ranks;  // its members
  MPI_Op op = MPI_OP_NULL;
  DType dtype = DType::kF32;
  int first_wait = 0;  // step index
  int parts = 0, packed = 0;
  std::vector<std::byte> data;
  MPI_Request request = MPI_REQUEST_NULL;

  void send() {
    check_mpi(
        MPI_Iallreduce_c(MPI_IN_PLACE, data.data(), static_cast<MPI_Count>(data.size()) / size_of(dtype),
                         mpi_type_of(dtype), op, comm, &request),
        "MPI_Iallreduce_c");
  }
};

class MpiBatches::Part : public PreparedCollective {
 public:
  Part(std::shared_ptr<Batch> batch, const CollectivePlan& plan, const Arena& arena, const Waiting& waiting)
      : batch_(std::move(batch)),
        input_(arena.at(plan.input.offset)),
        output_(arena.at(plan.output.offset)),
        place_(batch_->data.size()),
        bytes_(static_cast<size_t>(bytes_of(plan))),
        moved_once_(moved_by(plan)),
        waiting_(waiting) {
    batch_->data.resize(place_ + bytes_);
    ++batch_->parts;
  }

  void start() override {
    count(moved_once_);
    if (bytes_ > 0) std::memcpy(batch_->data.data() + place_, input_, bytes_);
    if (++batch_->packed < batch_->parts) return;
    batch_->packed = 0;
    batch_->send();
  }

  void wait() override {
    check_invariant(batch_->packed == 0, "a part of a batch is awaited before the batch is sent");
    wait_for(batch_->request, waiting_, batch_->ranks);
    if (bytes_ > 0) std::memcpy(output_, batch_->data.data() + place_, bytes_);
  }

  void progress() override {
    int done = 0;
    check_mpi(MPI_Test(&batch_->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }

 private:
  std::shared_ptr<Batch> batch_;
  const std::byte* input_;
  std::byte* output_;
  size_t place_, bytes_;
  CollectiveCost moved_once_;
  Waiting waiting_;
};

bool MpiBatches::takes(const CollectivePlan& plan) {
  return works_in_place(plan.kind) && plan.dtype != DType::kBF16 && bytes_of(plan) <= kLargestPart;
}

bool MpiBatches::fits(const CollectivePlan& plan, MPI_Comm comm, MPI_Op op, int start) const {
  return last_ && last_->comm == comm && last_->op == op && last_->dtype == plan.dtype &&
         start < last_->first_wait &&
         static_cast<int64_t>(last_->data.size()) + bytes_of(plan) <= kLargestBatch;
}

std::unique_ptr<PreparedCollective> MpiBatches::add(const CollectivePlan& plan, MPI_Comm comm, MPI_Op op,
                                                    int start, int wait) {
  if (!fits(plan, comm, op, start)) {
    last_ = std::make_shared<Batch>();
    last_->comm = comm;
    last_->ranks = plan.ranks;
    last_->op = op;
    last_->dtype = plan.dtype;
    last_->first_wait = wait;
  }
  last_->first_wait = std::min(last_->first_wait, wait);
  return std::make_unique<Part>(last_, plan, arena_, waiting_);
}

}  // namespace mtfc
