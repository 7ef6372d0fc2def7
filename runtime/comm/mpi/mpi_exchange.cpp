#include "runtime/comm/mpi/mpi_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/diagnostics/error.h"
#include "runtime/memory/runs.h"

namespace mtfc {

MPI_Datatype mpi_type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return MPI_FLOAT;
    case DType::kF64:
      return MPI_DOUBLE;
    case DType::kI32:
      return MPI_INT32_T;
    case DType::kI64:
      return MPI_INT64_T;
    case DType::kBool:
      return MPI_UINT8_T;
  }
  throw InternalError("a dtype has no MPI type");
}

namespace {

bool contiguous(const std::vector<std::vector<Run>>& members) {
  return std::all_of(members.begin(), members.end(), [](const std::vector<Run>& runs) {
    return runs.empty() || (runs.size() == 1 && runs[0].is_contiguous());
  });
}

// Returns whether the members' parts are the whole input, one after another.
bool in_order(const CollectivePlan& plan) {
  int64_t next = 0;
  for (const std::vector<Run>& runs : plan.sends) {
    if (runs.size() > 1 || (runs.size() == 1 && runs[0].from != next)) return false;
    next += elements(runs);
  }
  return next == plan.input.elements();
}

class MpiExchange : public PreparedCollective {
 public:
  MpiExchange(CollectivePlan plan, MPI_Comm comm, MPI_Op op, const Arena& arena, const Waiting& waiting)
      : plan_(std::move(plan)), comm_(comm), op_(op), arena_(arena), waiting_(waiting) {
    switch (plan_.kind) {
      case CollectiveKind::kAllReduce:
        break;
      case CollectiveKind::kReduceScatter:
        prepare_reduce_scatter();
        break;
      case CollectiveKind::kAllGather:
        prepare_all_gather();
        break;
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kExchange:
        prepare_exchange();
        break;
    }
    moved_once_ = handed_to_mpi();
  }

  void start() override {
    count(moved_once_);
    if (!plan_.fill.empty()) fill_elements(plan_.fill, plan_.output.elements(), output());
    switch (plan_.kind) {
      case CollectiveKind::kAllReduce:
        start_all_reduce();
        break;
      case CollectiveKind::kReduceScatter:
        start_reduce_scatter();
        break;
      case CollectiveKind::kAllGather:
        start_all_gather();
        break;
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kExchange:
        start_exchange();
        break;
    }
  }

  void wait() override {
    wait_for(request_, waiting_, plan_.ranks);
    finish();
  }

  void progress() override {
    int done = 0;
    check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }

 private:
  int64_t size() const { return size_of(plan_.dtype); }
  std::byte* input() const { return arena_.at(plan_.input.offset); }
  std::byte* output() const { return arena_.at(plan_.output.offset); }
  std::byte* packed() const { return arena_.at(plan_.workspace_offset); }
  std::byte* arriving() const {
    return unpack_ ? arena_.at(plan_.workspace_offset + aligned(packed_bytes_)) : output();
  }

  void require_workspace(int64_t bytes) {
    if (bytes > plan_.workspace_bytes)
      throw InternalError(fmt::format("a collective needs {} bytes of workspace, and {} were planned", bytes,
                                      plan_.workspace_bytes));
  }

  // Data goes straight to its place if each member's part is contiguous.
  int64_t place_receives() {
    const std::vector<std::vector<Run>>& receives = plan_.receives;
    unpack_ = !contiguous(receives);
    int64_t next = 0;
    for (const std::vector<Run>& runs : receives) {
      const int64_t bytes = elements(runs) * size();
      receive_counts_.push_back(bytes);
      receive_places_.push_back(unpack_ || runs.empty() ? next : runs[0].to * size());
      if (unpack_) next += bytes;
    }
    return next;
  }

  void prepare_reduce_scatter() {
    for (const std::vector<Run>& runs : plan_.sends) receive_counts_.push_back(elements(runs));
    // Members with the same piece would each add in a different order, and end with values that differ in the
    // last bit.
    if (plan_.replicated) {
      packed_bytes_ = plan_.input.elements() * size();
    } else if (!in_order(plan_)) {
      pack_ = true;
      for (const MPI_Count count : receive_counts_) packed_bytes_ += count * size();
    }
    require_workspace(packed_bytes_);
  }

  void prepare_all_gather() {
    check_invariant(elements(plan_.receives[plan_.self]) == plan_.input.elements(),
                    "an all_gather drops a part of its input");
    require_workspace(place_receives());
  }

  void prepare_exchange() {
    // If the output takes the place of the input, everything must have left before anything arrives.
    pack_ = plan_.in_place() || !contiguous(plan_.sends);
    for (const std::vector<Run>& runs : plan_.sends) {
      const int64_t bytes = elements(runs) * size();
      send_counts_.push_back(bytes);
      send_places_.push_back(pack_ || runs.empty() ? packed_bytes_ : runs[0].from * size());
      if (pack_) packed_bytes_ += bytes;
    }
    const int64_t arriving = place_receives();
    // A device's own part is copied locally.
    send_counts_[plan_.self] = 0;
    receive_counts_[plan_.self] = 0;
    require_workspace(aligned(packed_bytes_) + arriving);
  }

  // The traffic that one start hands to MPI, from the counts that it passes.
  CollectiveCost handed_to_mpi() const {
    const auto all = [](const std::vector<MPI_Count>& counts) {
      return std::accumulate(counts.begin(), counts.end(), int64_t{0});
    };
    const auto fewest = [](const std::vector<MPI_Count>& counts) {
      return counts.empty() ? 0 : *std::min_element(counts.begin(), counts.end());
    };
    CollectiveAmounts amounts;
    amounts.in = plan_.input.elements();
    amounts.members = static_cast<int64_t>(plan_.ranks.size());
    if (plan_.kind == CollectiveKind::kReduceScatter) amounts.smallest_out_share = fewest(receive_counts_);
    if (plan_.kind == CollectiveKind::kAllGather) {
      amounts.out = all(receive_counts_) / size();
      amounts.smallest_in_share = fewest(receive_counts_) / size();
    }
    amounts.exchanged = all(send_counts_) / size();
    return collective_cost(plan_.kind, amounts, size());
  }

  void start_all_reduce() {
    const void* source = plan_.in_place() ? MPI_IN_PLACE : input();
    check_mpi(MPI_Iallreduce_c(source, output(), plan_.input.elements(), mpi_type_of(plan_.dtype), op_, comm_,
                               &request_),
              "MPI_Iallreduce_c");
  }

  void start_reduce_scatter() {
    const MPI_Datatype type = mpi_type_of(plan_.dtype);
    if (plan_.replicated) {
      check_mpi(MPI_Iallreduce_c(input(), packed(), plan_.input.elements(), type, op_, comm_, &request_),
                "MPI_Iallreduce_c");
      return;
    }
    const void* source = plan_.in_place() ? MPI_IN_PLACE : static_cast<const void*>(input());
    if (pack_) {
      std::byte* next = packed();
      for (const std::vector<Run>& runs : plan_.sends) next = pack_runs(runs, size(), input(), next);
      source = packed();
    }
    check_mpi(MPI_Ireduce_scatter_c(source, output(), receive_counts_.data(), type, op_, comm_, &request_),
              "MPI_Ireduce_scatter_c");
  }

  void start_all_gather() {
    const void* source = input();
    const MPI_Count own = plan_.input.elements() * size();
    if (plan_.in_place() && !unpack_) {
      std::memmove(output() + receive_places_[plan_.self], input(), static_cast<size_t>(own));
      source = MPI_IN_PLACE;
    }
    check_mpi(MPI_Iallgatherv_c(source, own, MPI_BYTE, arriving(), receive_counts_.data(),
                                receive_places_.data(), MPI_BYTE, comm_, &request_),
              "MPI_Iallgatherv_c");
  }

  void start_exchange() {
    const std::vector<Run>& own = plan_.receives[plan_.self];
    if (pack_) {
      std::byte* next = packed();
      for (const std::vector<Run>& runs : plan_.sends) next = pack_runs(runs, size(), input(), next);
    }
    if (plan_.in_place())
      unpack_runs(own, size(), packed() + send_places_[plan_.self], output());
    else
      copy_runs(own, size(), input(), output());
    check_mpi(MPI_Ialltoallv_c(pack_ ? packed() : input(), send_counts_.data(), send_places_.data(), MPI_BYTE,
                               arriving(), receive_counts_.data(), receive_places_.data(), MPI_BYTE, comm_,
                               &request_),
              "MPI_Ialltoallv_c");
  }

  void finish() {
    if (plan_.replicated) copy_runs(plan_.receives[plan_.self], size(), packed(), output());
    if (!unpack_) return;
    for (size_t m = 0; m < plan_.receives.size(); ++m)
      if (receive_counts_[m] > 0)
        unpack_runs(plan_.receives[m], size(), arriving() + receive_places_[m], output());
  }

  const CollectivePlan plan_;
  CollectiveCost moved_once_;
  MPI_Comm comm_;
  MPI_Op op_;
  const Arena& arena_;
  Waiting waiting_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  // Counts and offsets per member, in elements for a reduce_scatter and in bytes otherwise. Offsets are in
  // the input or output region if data goes there directly, otherwise in the workspace.
  std::vector<MPI_Count> send_counts_, receive_counts_;
  std::vector<MPI_Aint> send_places_, receive_places_;
  bool pack_ = false;    // sends go through the workspace
  bool unpack_ = false;  // receives go through the workspace
  int64_t packed_bytes_ = 0;
};

class Alone : public PreparedCollective {
 public:
  Alone(CollectivePlan plan, const Arena& arena) : plan_(std::move(plan)), arena_(arena) {}

  void start() override {
    count(moved_by(plan_));
    const int64_t size = size_of(plan_.dtype);
    const std::byte* input = arena_.at(plan_.input.offset);
    std::byte* output = arena_.at(plan_.output.offset);
    if (!plan_.fill.empty()) fill_elements(plan_.fill, plan_.output.elements(), output);
    if (plan_.kind != CollectiveKind::kAllReduce)
      copy_runs(plan_.receives[0], size, input, output);
    else if (!plan_.in_place())
      std::memcpy(output, input, static_cast<size_t>(plan_.input.elements() * size));
  }
  void wait() override {}

 private:
  const CollectivePlan plan_;
  const Arena& arena_;
};

}  // namespace

std::unique_ptr<PreparedCollective> mpi_exchange(CollectivePlan plan, MPI_Comm comm, MPI_Op op,
                                                 const Arena& arena, const Waiting& waiting) {
  return std::make_unique<MpiExchange>(std::move(plan), comm, op, arena, waiting);
}

std::unique_ptr<PreparedCollective> exchange_alone(CollectivePlan plan, const Arena& arena) {
  return std::make_unique<Alone>(std::move(plan), arena);
}

}  // namespace mtfc
