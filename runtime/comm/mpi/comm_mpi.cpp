#include "runtime/comm/mpi/comm_mpi.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/diagnostics/error.h"
#include "runtime/comm/mpi/mpi_exchange.h"
#include "runtime/comm/mpi/two_level.h"
#include "runtime/comm/node/node_collectives.h"
#include "runtime/comm/node/node_ring.h"
#include "runtime/comm/reduce.h"
#include "runtime/comm/transfer.h"
#include "runtime/processes/blocking_call.h"
#include "runtime/processes/mpi_calls.h"

namespace mtfc {
namespace {

// MPI_MAX and MPI_MIN leave NaN unspecified; these propagate it, in any order.
template <ReduceKind kind>
void combine_floats(void* operand, void* result, MPI_Count* count, MPI_Datatype* type) {
  combine(kind, *type == MPI_FLOAT ? DType::kF32 : DType::kF64, static_cast<const std::byte*>(operand),
          static_cast<std::byte*>(result), *count);
}

constexpr int kRingTag = 0;

// A ring by messages, which travel while the executor multiplies if MPI moves them by itself, and otherwise at the ends
// of products. `comm` spans the members, in order.
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
                          kRingTag, comm_, &receive_),
              "MPI_Irecv_c");
    check_mpi(MPI_Isend_c(slice, plan().bytes(turn), MPI_BYTE, static_cast<int>(plan().previous()), kRingTag,
                          comm_, &send_),
              "MPI_Isend_c");
  }

  const MPI_Comm comm_;
  const Arena& arena_;
  const Waiting waiting_;
  MPI_Request receive_ = MPI_REQUEST_NULL, send_ = MPI_REQUEST_NULL;
};

class MpiCollectives : public Collectives {
 public:
  explicit MpiCollectives(const Arena& arena) : arena_(arena) {}

  void add(size_t step, std::unique_ptr<PreparedCollective> work, std::vector<PackedPart> parts) {
    prepared_.emplace(step, std::move(work));
    parts_.emplace(step, std::move(parts));
  }
  void add(size_t step, std::unique_ptr<PreparedRing> ring) { rings_.emplace(step, std::move(ring)); }

  void start(size_t step) override {
    PreparedCollective& work = *prepared_.at(step);
    pack(parts_.at(step), arena_);
    work.start();
    active_.push_back(&work);
  }

  void wait(size_t step) override {
    PreparedCollective& work = *prepared_.at(step);
    work.wait();
    std::erase(active_, &work);
    unpack(parts_.at(step), arena_);
  }

  PreparedRing& ring(size_t step, size_t) override { return *rings_.at(step); }

  void progress() override {
    for (PreparedCollective* work : active_) work->progress();
  }

  CollectiveCost count(size_t step) const override {
    const auto ring = rings_.find(step);
    return ring == rings_.end() ? prepared_.at(step)->moved() : ring->second->moved();
  }
  void clear_counts() override {
    for (auto& [step, work] : prepared_) work->clear_moved();
    for (auto& [step, ring] : rings_) ring->clear_moved();
  }

 private:
  const Arena& arena_;
  std::map<size_t, std::unique_ptr<PreparedCollective>> prepared_;
  std::map<size_t, std::vector<PackedPart>> parts_;  // of the same steps
  std::map<size_t, std::unique_ptr<PreparedRing>> rings_;
  std::vector<PreparedCollective*> active_;
};

// Small collectives over many nodes take fewer messages by MPI's own algorithms. All members of a group must get the
// same answer, so this looks only at what is equally large on all of them; shards may differ.
bool is_small(const CollectivePlan& plan, const GroupNodes& nodes) {
  constexpr size_t kFewNodes = 8;
  constexpr int64_t kSmallMessage = 8192;
  if (!reduces(plan.kind) && plan.kind != CollectiveKind::kAllGather) return false;
  const Place& whole = plan.kind == CollectiveKind::kAllGather ? plan.output : plan.input;
  const size_t count = nodes.members.size();
  return count > kFewNodes &&
         whole.elements() * size_of(plan.dtype) < static_cast<int64_t>(count) * kSmallMessage;
}

}  // namespace

// The step of a collective and the state of its entry point.
struct MpiComm::Occasion {
  const Arena& arena;
  const Idle& idle;
  int tag;  // of the messages of this collective, as is the next one
  const GroupPlans& plans;
};

// Communicators by axes, and the operations that MPI lacks. Every rank asks for the same communicators in the
// same order; only their members make them, which is four times as fast as MPI_Comm_split.
class MpiComm::Groups {
 public:
  explicit Groups(Processes& processes) : processes_(processes) {
    check_mpi(MPI_Op_create_c(combine_floats<ReduceKind::kMax>, 1, &maximum_), "MPI_Op_create_c");
    check_mpi(MPI_Op_create_c(combine_floats<ReduceKind::kMin>, 1, &minimum_), "MPI_Op_create_c");
  }
  ~Groups() {
    int finalized = 0;
    if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
    for (auto& [axes, comm] : comms_)
      if (comm != MPI_COMM_WORLD && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    MPI_Op_free(&maximum_);
    MPI_Op_free(&minimum_);
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  MPI_Op op(const CollectivePlan& plan) const {
    if (!reduces(plan.kind) || plan.dtype == DType::kBF16) return MPI_OP_NULL;
    const bool logical = plan.dtype == DType::kBool;
    switch (plan.reduce) {
      case ReduceKind::kSum:
        check_invariant(!logical, "bool is not summed");
        return MPI_SUM;
      case ReduceKind::kProd:
        check_invariant(!logical, "bool is not multiplied");
        return MPI_PROD;
      case ReduceKind::kMax:
        return logical ? MPI_BOR : is_float(plan.dtype) ? maximum_ : MPI_MAX;
      case ReduceKind::kMin:
        return logical ? MPI_BAND : is_float(plan.dtype) ? minimum_ : MPI_MIN;
    }
    throw InternalError("a reduction has no MPI operation");
  }

  // `comm` spans the whole group of `plan`.
  std::unique_ptr<PreparedCollective> by_messages(const CollectivePlan& plan, const Occasion& occasion,
                                                  MPI_Comm comm) const {
    return mpi_exchange(plan, comm, op(plan), occasion.arena, processes_.waiting());
  }

  // The communicator of the whole group of `plan`.
  MPI_Comm whole(const CollectivePlan& plan) { return comm(plan.axes, plan.ranks); }
  MPI_Comm whole(const RingPlan& plan) { return comm(plan.axes, plan.ranks); }

 private:
  MPI_Comm comm(const AxisList& axes, const std::vector<int64_t>& ranks) {
    const auto known = comms_.find(axes);
    if (known != comms_.end()) return known->second;
    const MPI_Comm made = make(ranks);
    comms_.emplace(axes, made);
    return made;
  }

  MPI_Comm make(const std::vector<int64_t>& ranks) {
    const bool all = static_cast<int>(ranks.size()) == processes_.size();
    if (all && std::is_sorted(ranks.begin(), ranks.end())) return MPI_COMM_WORLD;
    const int tag = made_++;
    processes_.barrier();
    if (ranks.size() < 2) return MPI_COMM_NULL;
    const std::vector<int> members(ranks.begin(), ranks.end());
    MPI_Group world, group;
    MPI_Comm comm;
    check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    check_mpi(MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group),
              "MPI_Group_incl");
    {
      const BlockingCall call(*processes_.watchdog(), "MPI_Comm_create_group");
      check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm), "MPI_Comm_create_group");
    }
    check_mpi(MPI_Group_free(&group), "MPI_Group_free");
    check_mpi(MPI_Group_free(&world), "MPI_Group_free");
    check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    return comm;
  }

  Processes& processes_;
  MPI_Op maximum_ = MPI_OP_NULL, minimum_ = MPI_OP_NULL;
  std::map<AxisList, MPI_Comm> comms_;
  int made_ = 0;
};

MpiComm::MpiComm(const Mesh& mesh, Processes& processes, NodeMemory& node)
    : mesh_(mesh), processes_(processes), node_(node) {
  if (mesh.devices() != processes.size())
    throw RunError(fmt::format("the mesh {} has {} devices, but there are {} ranks", to_string(mesh),
                               mesh.devices(), processes.size()));
  devices_.push_back(mesh.coordinates(processes.rank()));
  groups_ = std::make_unique<Groups>(processes);
}

MpiComm::~MpiComm() = default;

std::vector<Arena> MpiComm::make_arenas(int64_t bytes) {
  std::vector<Arena> arenas;
  arenas.push_back(node_.arena(bytes));
  return arenas;
}

// Returns whether any group over `axes` has members on several nodes.
bool MpiComm::crosses_nodes(const AxisList& axes) {
  const auto known = crosses_.find(axes);
  if (known != crosses_.end()) return known->second;
  bool crosses = false;
  for (int64_t rank = 0; rank < mesh_.devices() && !crosses; ++rank)
    crosses = node_.of(rank) != node_.of(mesh_.rank(mesh_.moved(mesh_.coordinates(rank), axes, 0)));
  crosses_.emplace(axes, crosses);
  return crosses;
}

// Chooses the route of a step's data. All ranks make the same communicators and groups here, whether or not
// their own group needs them.
std::unique_ptr<PreparedCollective> MpiComm::prepare(const CollectivePlan& plan, const Occasion& occasion) {
  if (plan.ranks.size() == 1) return exchange_alone(plan, occasion.arena);
  std::optional<NodeSite> site = site_on_node(plan.axes, plan.ranks, occasion.arena, occasion.idle);
  if (!site) return groups_->by_messages(plan, occasion, groups_->whole(plan));
  if (!crosses_nodes(plan.axes)) return node_collective(plan, *std::move(site), occasion.plans);
  const MPI_Comm comm = groups_->whole(plan);
  GroupNodes nodes = group_nodes(plan, node_.nodes());
  if (nodes.members.size() == 1) return node_collective(plan, *std::move(site), occasion.plans);
  if (nodes.most() == 1 || is_small(plan, nodes) || !has_two_levels(plan, nodes))
    return groups_->by_messages(plan, occasion, comm);
  return two_level(plan, *std::move(site), {std::move(nodes), comm, occasion.tag, processes_.waiting()});
}

// A ring goes by messages if any of its members is on another node.
std::unique_ptr<PreparedRing> MpiComm::prepare(const RingPlan& plan, const Arena& arena, const Idle& idle) {
  std::optional<NodeSite> site = site_on_node(plan.axes, plan.ranks, arena, idle);
  if (site && !crosses_nodes(plan.axes)) return node_ring(plan, *std::move(site));
  return std::make_unique<MpiRing>(plan, groups_->whole(plan), arena, processes_.waiting());
}

// The members of a group on this node; nothing if they share no memory.
std::optional<NodeSite> MpiComm::site_on_node(const AxisList& axes, const std::vector<int64_t>& ranks,
                                              const Arena& arena, const Idle& idle) {
  const std::vector<std::byte*> starts = node_.starts_of(arena);
  if (starts.empty()) return std::nullopt;
  std::string name = to_string(mesh_);
  for (const int64_t rank : mesh_.device_order()) name += fmt::format(" {}", rank);
  for (const int axis : axes) name += fmt::format(" {}", axis);
  NodeGroup* group = node_.group(name, ranks);
  if (!group) return std::nullopt;
  NodeSite site{*group, {}, idle};
  for (const int64_t rank : ranks)
    if (node_.of(rank) == node_.of(processes_.rank())) site.arenas.push_back(starts[node_.position(rank)]);
  return site;
}

// Every rank prepares the same collectives in the same order, so they agree on tags. Rings use tag 0.
int MpiComm::next_tag() {
  constexpr int kTags = 32000;  // below those of the watchdog (runtime/processes/point_messages.cpp)
  const int tag = 1 + 2 * tags_used_;
  tags_used_ = (tags_used_ + 1) % (kTags / 2);
  return tag;
}

std::unique_ptr<Collectives> MpiComm::prepare(const EntryPoint& entry, std::span<const Arena> arenas) {
  auto collectives = std::make_unique<MpiCollectives>(arenas[0]);
  const Idle idle = [all = collectives.get()] { all->progress(); };
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    if (entry.steps[i].kind() == StepKind::kRing)
      collectives->add(i, prepare(plan_ring(entry, entry.steps[i], mesh_, devices_[0]), arenas[0], idle));
    if (entry.steps[i].kind() != StepKind::kStart) continue;
    const CollectivePlan plan = plan_collective(entry, entry.steps[i], mesh_, devices_[0]);
    const GroupPlans plans{largest_bytes(entry, entry.steps[i].outputs[0], mesh_), [&](size_t member) {
                             return plan_collective(entry, entry.steps[i], mesh_,
                                                    mesh_.coordinates(plan.ranks[member]));
                           }};
    collectives->add(i, prepare(plan, {arenas[0], idle, next_tag(), plans}), plan.parts);
  }
  return collectives;
}

}  // namespace mtfc
