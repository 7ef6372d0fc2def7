#include "runtime/comm_mpi.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "core/error.h"
#include "runtime/move_pieces.h"
#include "runtime/mpi_calls.h"
#include "runtime/reduce.h"
#include "runtime/transfer.h"

namespace mtfc {
namespace {

MPI_Datatype type_of(DType dtype) {
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

// MPI_MAX and MPI_MIN leave open what they make of NaN; these hand it on, whatever the order.
template <ReduceKind kind>
void combine_floats(void* operand, void* result, MPI_Count* count, MPI_Datatype* type) {
  combine(kind, *type == MPI_FLOAT ? DType::kF32 : DType::kF64, static_cast<const std::byte*>(operand),
          static_cast<std::byte*>(result), *count);
}

int64_t rounded(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool contiguous(const std::vector<std::vector<Run>>& members) {
  return std::all_of(members.begin(), members.end(), [](const std::vector<Run>& runs) {
    return runs.empty() || (runs.size() == 1 && runs[0].is_contiguous());
  });
}

// Whether what goes to the members is the whole input, piece after piece.
bool in_order(const CollectivePlan& plan) {
  int64_t next = 0;
  for (const std::vector<Run>& runs : plan.sends) {
    if (runs.size() > 1 || (runs.size() == 1 && runs[0].from != next)) return false;
    next += elements(runs);
  }
  return next == plan.input.elements();
}

// One collective, ready to go.
struct Exchange {
  CollectivePlan plan;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  // Counts and places per member, in elements for a reduce_scatter and in bytes otherwise. Places are in the
  // input or output region where data goes there directly, and in the workspace otherwise.
  std::vector<MPI_Count> send_counts, receive_counts;
  std::vector<MPI_Aint> send_places, receive_places;
  bool pack = false;    // sends go through the workspace
  bool unpack = false;  // so does what arrives
  int64_t packed_bytes = 0;

  int64_t size() const { return size_of(plan.dtype); }
  int64_t receive_offset() const { return plan.workspace_offset + rounded(packed_bytes); }
};

void require_workspace(const Exchange& e, int64_t bytes) {
  if (bytes > e.plan.workspace_bytes)
    throw InternalError(fmt::format("a collective needs {} bytes of workspace, and {} were planned", bytes,
                                    e.plan.workspace_bytes));
}

// What arrives goes straight to its place where each member's part is in one piece.
int64_t place_receives(Exchange& e) {
  const std::vector<std::vector<Run>>& receives = e.plan.receives;
  e.unpack = !contiguous(receives);
  int64_t next = 0;
  for (const std::vector<Run>& runs : receives) {
    const int64_t bytes = elements(runs) * e.size();
    e.receive_counts.push_back(bytes);
    e.receive_places.push_back(e.unpack || runs.empty() ? next : runs[0].to * e.size());
    if (e.unpack) next += bytes;
  }
  return next;
}

void prepare_reduce_scatter(Exchange& e) {
  for (const std::vector<Run>& runs : e.plan.sends) e.receive_counts.push_back(elements(runs));
  // Members with the same piece would each add in another order, and end with values that differ in the last
  // bit.
  if (e.plan.replicated) {
    e.packed_bytes = e.plan.input.elements() * e.size();
  } else if (!in_order(e.plan)) {
    e.pack = true;
    for (const MPI_Count count : e.receive_counts) e.packed_bytes += count * e.size();
  }
  require_workspace(e, e.packed_bytes);
}

void prepare_all_gather(Exchange& e) {
  check_invariant(elements(e.plan.receives[e.plan.self]) == e.plan.input.elements(),
                  "an all_gather drops a part of its input");
  require_workspace(e, place_receives(e));
}

void prepare_exchange(Exchange& e) {
  // Where the output takes the place of the input, everything must have left before anything arrives.
  e.pack = e.plan.in_place() || !contiguous(e.plan.sends);
  for (const std::vector<Run>& runs : e.plan.sends) {
    const int64_t bytes = elements(runs) * e.size();
    e.send_counts.push_back(bytes);
    e.send_places.push_back(e.pack || runs.empty() ? e.packed_bytes : runs[0].from * e.size());
    if (e.pack) e.packed_bytes += bytes;
  }
  const int64_t arriving = place_receives(e);
  // A device's own part is a local copy.
  e.send_counts[e.plan.self] = 0;
  e.receive_counts[e.plan.self] = 0;
  require_workspace(e, rounded(e.packed_bytes) + arriving);
}

class MpiCollectives : public Collectives {
 public:
  MpiCollectives(const Arena& arena, bool yield) : arena_(arena), yield_(yield) {}

  void add(size_t step, Exchange exchange) {
    if (exchange.plan.ranks.size() > 1) switch (exchange.plan.kind) {
        case CollectiveKind::kAllReduce:
          break;
        case CollectiveKind::kReduceScatter:
          prepare_reduce_scatter(exchange);
          break;
        case CollectiveKind::kAllGather:
          prepare_all_gather(exchange);
          break;
        case CollectiveKind::kAllToAll:
        case CollectiveKind::kExchange:
          prepare_exchange(exchange);
          break;
      }
    exchanges_.emplace(step, std::move(exchange));
  }

  void start(size_t step) override {
    Exchange& e = exchanges_.at(step);
    if (!e.plan.fill.empty()) fill_elements(e.plan.fill, e.plan.output.elements(), output(e));
    if (e.plan.ranks.size() == 1) {
      copy_alone(e);
      return;
    }
    switch (e.plan.kind) {
      case CollectiveKind::kAllReduce:
        start_all_reduce(e);
        break;
      case CollectiveKind::kReduceScatter:
        start_reduce_scatter(e);
        break;
      case CollectiveKind::kAllGather:
        start_all_gather(e);
        break;
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kExchange:
        start_exchange(e);
        break;
    }
    active_.push_back(&e);
  }

  void wait(size_t step) override {
    Exchange& e = exchanges_.at(step);
    if (e.plan.ranks.size() == 1) return;
    wait_for(e.request, yield_, e.plan.ranks);
    std::erase(active_, &e);
    finish(e);
  }

  void progress() override {
    if (active_.empty()) return;
    int done = 0;
    check_mpi(MPI_Test(&active_.front()->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }

  StepCount count(size_t step) const override { return exchanges_.at(step).plan.count; }

 private:
  std::byte* input(const Exchange& e) const { return arena_.at(e.plan.input.offset); }
  std::byte* output(const Exchange& e) const { return arena_.at(e.plan.output.offset); }
  std::byte* packed(const Exchange& e) const { return arena_.at(e.plan.workspace_offset); }
  std::byte* arriving(const Exchange& e) const {
    return e.unpack ? arena_.at(e.receive_offset()) : output(e);
  }

  void copy_alone(const Exchange& e) {
    if (e.plan.kind == CollectiveKind::kAllReduce) {
      if (!e.plan.in_place())
        std::memcpy(output(e), input(e), static_cast<size_t>(e.plan.input.elements() * e.size()));
      return;
    }
    copy_runs(e.plan.receives[0], e.size(), input(e), output(e));
  }

  void start_all_reduce(Exchange& e) {
    const void* source = e.plan.in_place() ? MPI_IN_PLACE : input(e);
    check_mpi(MPI_Iallreduce_c(source, output(e), e.plan.input.elements(), type_of(e.plan.dtype), e.op,
                               e.comm, &e.request),
              "MPI_Iallreduce_c");
  }

  void start_reduce_scatter(Exchange& e) {
    const MPI_Datatype type = type_of(e.plan.dtype);
    if (e.plan.replicated) {
      check_mpi(
          MPI_Iallreduce_c(input(e), packed(e), e.plan.input.elements(), type, e.op, e.comm, &e.request),
          "MPI_Iallreduce_c");
      return;
    }
    const void* source = e.plan.in_place() ? MPI_IN_PLACE : static_cast<const void*>(input(e));
    if (e.pack) {
      std::byte* next = packed(e);
      for (const std::vector<Run>& runs : e.plan.sends) next = pack_runs(runs, e.size(), input(e), next);
      source = packed(e);
    }
    check_mpi(
        MPI_Ireduce_scatter_c(source, output(e), e.receive_counts.data(), type, e.op, e.comm, &e.request),
        "MPI_Ireduce_scatter_c");
  }

  void start_all_gather(Exchange& e) {
    const void* source = input(e);
    const MPI_Count own = e.plan.input.elements() * e.size();
    if (e.plan.in_place() && !e.unpack) {
      std::memmove(output(e) + e.receive_places[e.plan.self], input(e), static_cast<size_t>(own));
      source = MPI_IN_PLACE;
    }
    check_mpi(MPI_Iallgatherv_c(source, own, MPI_BYTE, arriving(e), e.receive_counts.data(),
                                e.receive_places.data(), MPI_BYTE, e.comm, &e.request),
              "MPI_Iallgatherv_c");
  }

  void start_exchange(Exchange& e) {
    const std::vector<Run>& own = e.plan.receives[e.plan.self];
    if (e.pack) {
      std::byte* next = packed(e);
      for (const std::vector<Run>& runs : e.plan.sends) next = pack_runs(runs, e.size(), input(e), next);
    }
    if (e.plan.in_place())
      unpack_runs(own, e.size(), packed(e) + e.send_places[e.plan.self], output(e));
    else
      copy_runs(own, e.size(), input(e), output(e));
    check_mpi(MPI_Ialltoallv_c(e.pack ? packed(e) : input(e), e.send_counts.data(), e.send_places.data(),
                               MPI_BYTE, arriving(e), e.receive_counts.data(), e.receive_places.data(),
                               MPI_BYTE, e.comm, &e.request),
              "MPI_Ialltoallv_c");
  }

  void finish(const Exchange& e) {
    if (e.plan.replicated) copy_runs(e.plan.receives[e.plan.self], e.size(), packed(e), output(e));
    if (!e.unpack) return;
    for (size_t m = 0; m < e.plan.receives.size(); ++m)
      if (e.receive_counts[m] > 0)
        unpack_runs(e.plan.receives[m], e.size(), arriving(e) + e.receive_places[m], output(e));
  }

  const Arena& arena_;
  bool yield_;
  std::map<size_t, Exchange> exchanges_;
  std::vector<Exchange*> active_;
};

}  // namespace

// Communicators by axes, and the operations MPI lacks.
class MpiComm::Groups {
 public:
  Groups() {
    check_mpi(MPI_Op_create_c(combine_floats<ReduceKind::kMax>, 1, &maximum_), "MPI_Op_create_c");
    check_mpi(MPI_Op_create_c(combine_floats<ReduceKind::kMin>, 1, &minimum_), "MPI_Op_create_c");
  }
  ~Groups() {
    int finalized = 0;
    if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
    for (auto& [axes, comm] : comms_)
      if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    MPI_Op_free(&maximum_);
    MPI_Op_free(&minimum_);
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  MPI_Op op(ReduceKind kind, DType dtype) const {
    const bool logical = dtype == DType::kBool;
    switch (kind) {
      case ReduceKind::kSum:
        check_invariant(!logical, "bool is not summed");
        return MPI_SUM;
      case ReduceKind::kProd:
        check_invariant(!logical, "bool is not multiplied");
        return MPI_PROD;
      case ReduceKind::kMax:
        return logical ? MPI_BOR : is_float(dtype) ? maximum_ : MPI_MAX;
      case ReduceKind::kMin:
        return logical ? MPI_BAND : is_float(dtype) ? minimum_ : MPI_MIN;
    }
    throw InternalError("a reduction has no MPI operation");
  }

  // Of the group of `plan`. Only its members take part, which makes this four times as fast as
  // MPI_Comm_split.
  MPI_Comm comm(const CollectivePlan& plan, Processes& processes) {
    const auto known = comms_.find(plan.axes);
    if (known != comms_.end()) return known->second;
    MPI_Comm comm = MPI_COMM_WORLD;
    if (static_cast<int>(plan.ranks.size()) < processes.size()) {
      const std::vector<int> ranks(plan.ranks.begin(), plan.ranks.end());
      MPI_Group world, group;
      check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
      check_mpi(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group),
                "MPI_Group_incl");
      processes.barrier();
      check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, group, static_cast<int>(comms_.size()), &comm),
                "MPI_Comm_create_group");
      check_mpi(MPI_Group_free(&group), "MPI_Group_free");
      check_mpi(MPI_Group_free(&world), "MPI_Group_free");
      check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
    comms_.emplace(plan.axes, comm);
    return comm;
  }

 private:
  MPI_Op maximum_ = MPI_OP_NULL, minimum_ = MPI_OP_NULL;
  std::map<AxisList, MPI_Comm> comms_;
};

MpiComm::MpiComm(const Mesh& mesh, Processes& processes) : mesh_(mesh), processes_(processes) {
  if (mesh.devices() != processes.size())
    throw RunError(fmt::format("the mesh {} has {} devices, and {} ranks run", to_string(mesh),
                               mesh.devices(), processes.size()));
  devices_.push_back(mesh.coordinates(processes.rank()));
  groups_ = std::make_unique<Groups>();
}

MpiComm::~MpiComm() = default;

std::unique_ptr<Collectives> MpiComm::prepare(const EntryPoint& entry, std::span<const Arena> arenas) {
  auto collectives = std::make_unique<MpiCollectives>(arenas[0], processes_.oversubscribed());
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const Step& step = entry.steps[i];
    if (step.kind != StepKind::kStart) continue;
    Exchange exchange;
    exchange.plan = plan_collective(entry, step, mesh_, devices_[0]);
    if (exchange.plan.ranks.size() > 1) {
      exchange.comm = groups_->comm(exchange.plan, processes_);
      if (step.collective == CollectiveKind::kAllReduce || step.collective == CollectiveKind::kReduceScatter)
        exchange.op = groups_->op(exchange.plan.reduce, exchange.plan.dtype);
    }
    collectives->add(i, std::move(exchange));
  }
  return collectives;
}

}  // namespace mtfc
