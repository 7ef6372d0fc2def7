#include "runtime/comm/mpi/mpi_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "core/diagnostics/error.h"
#include "runtime/comm/mpi/rounded_reduce.h"
#include "runtime/memory/runs.h"

namespace mtfc {

MPI_Datatype mpi_type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return MPI_FLOAT;
    case DType::kF64:
      return MPI_DOUBLE;
    case DType::kBF16:
      return MPI_UINT16_T;  // to move them; rounded_reduce.h adds them
    case DType::kI32:
      return MPI_INT32_T;
    case DType::kI64:
      return MPI_INT64_T;
    case DType::kBool:
      return MPI_UINT8_T;
    case DType::kI8:
      return MPI_INT8_T;
  }
  throw InternalError("a dtype has no MPI type");
}

namespace {

// Returns whether the members' parts are the whole input, one after another.
bool in_order(const CollectivePlan& plan) {
  int64_t next = 0;
  for (const std::vector<Run>& runs : plan.sends) {
    if (runs.size() > 1 || (runs.size() == 1 && runs[0].from != next)) return false;
    next += elements(runs);
  }
  return next == plan.input.elements();
}

// The elements of each member's piece of a reduce_scatter.
std::vector<MPI_Count> sizes_of_pieces(const CollectivePlan& plan) {
  std::vector<MPI_Count> counts;
  for (const std::vector<Run>& runs : plan.sends) counts.push_back(elements(runs));
  return counts;
}

MPI_Count sum(const std::vector<MPI_Count>& counts) {
  return std::accumulate(counts.begin(), counts.end(), MPI_Count{0});
}

MPI_Count fewest(const std::vector<MPI_Count>& counts) {
  return counts.empty() ? 0 : *std::min_element(counts.begin(), counts.end());
}

// The arguments of every collective by messages.
struct MpiSite {
  CollectivePlan plan;
  MPI_Comm comm;
  MPI_Op op;
  const Arena& arena;
  Waiting waiting;
};

// The common part of all kinds. A kind's constructor decides whether its data goes through the workspace, and its
// send() makes one MPI call.
class MpiCollective : public PreparedCollective {
 public:
  explicit MpiCollective(MpiSite site) : site_(std::move(site)) {}

  void start() final {
    if (!moved_once_) moved_once_ = collective_cost(plan().kind, handed_to_mpi(), size());
    count(*moved_once_);
    if (!plan().fill.empty()) fill_elements(plan().fill, plan().output.elements(), output());
    send();
  }

  void wait() final {
    do wait_for(request_, site_.waiting, plan().ranks);
    while (proceed());
    finish();
  }

  void progress() final {
    int done = 0;
    check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }

 protected:
  virtual void send() = 0;
  // Posts a further request when one is complete, and returns whether it did. Called by wait() alone, so that all
  // members post their requests in the same order.
  virtual bool proceed() { return false; }
  // Moves what has arrived to its place.
  virtual void finish() {}
  // The amounts from which start() counts its traffic.
  virtual CollectiveAmounts handed_to_mpi() const = 0;

  const CollectivePlan& plan() const { return site_.plan; }
  MPI_Comm comm() const { return site_.comm; }
  MPI_Op op() const { return site_.op; }
  MPI_Request* request() { return &request_; }
  MPI_Datatype type() const { return mpi_type_of(plan().dtype); }
  int64_t size() const { return size_of(plan().dtype); }
  std::byte* input() const { return site_.arena.at(plan().input.offset); }
  std::byte* output() const { return site_.arena.at(plan().output.offset); }
  std::byte* workspace() const { return site_.arena.at(plan().workspace_offset); }

  void require_workspace(int64_t bytes) const {
    if (bytes > plan().workspace_bytes)
      throw InternalError(fmt::format("a collective needs {} bytes of workspace, and {} were planned", bytes,
                                      plan().workspace_bytes));
  }
  void pack_sends() const {
    std::byte* next = workspace();
    for (const std::vector<Run>& runs : plan().sends) next = pack_runs(runs, size(), input(), next);
  }

 private:
  const MpiSite site_;
  std::optional<CollectiveCost> moved_once_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class MpiAllReduce : public MpiCollective {
 public:
  using MpiCollective::MpiCollective;

 private:
  void send() override {
    const void* source = plan().in_place() ? MPI_IN_PLACE : input();
    check_mpi(MPI_Iallreduce_c(source, output(), plan().input.elements(), type(), op(), comm(), request()),
              "MPI_Iallreduce_c");
  }

  CollectiveAmounts handed_to_mpi() const override {
    const int64_t all = plan().input.elements();
    return {all, all, plan().flat_share()};
  }
};

// Members with the same piece would each add in a different order, and end with values that differ in the last bit.
// They therefore reduce everything, and each keeps its piece.
class MpiReduceScatter : public MpiCollective {
 public:
  explicit MpiReduceScatter(MpiSite site) : MpiCollective(std::move(site)) {
    counts_ = sizes_of_pieces(plan());
    pack_ = !plan().replicated && !in_order(plan());
    require_workspace(plan().replicated ? plan().input.elements() * size()
                      : pack_           ? sum(counts_) * size()
                                        : 0);
  }

 private:
  void send() override {
    if (plan().replicated) {
      check_mpi(
          MPI_Iallreduce_c(input(), workspace(), plan().input.elements(), type(), op(), comm(), request()),
          "MPI_Iallreduce_c");
      return;
    }
    const void* source = plan().in_place() ? MPI_IN_PLACE : static_cast<const void*>(input());
    if (pack_) {
      pack_sends();
      source = workspace();
    }
    check_mpi(MPI_Ireduce_scatter_c(source, output(), counts_.data(), type(), op(), comm(), request()),
              "MPI_Ireduce_scatter_c");
  }

  void finish() override {
    if (plan().replicated) copy_runs(plan().receives[plan().self], size(), workspace(), output());
  }

  CollectiveAmounts handed_to_mpi() const override { return {plan().input.elements(), 0, fewest(counts_)}; }

  std::vector<MPI_Count> counts_;  // elements of each member's piece
  bool pack_ = false;              // members' pieces do not lie one after another
};

// An all_reduce or a reduce_scatter of bf16.
class MpiRoundedReduce : public MpiCollective {
 public:
  explicit MpiRoundedReduce(MpiSite site)
      : MpiCollective(std::move(site)),
        gathers_(works_in_place(plan().kind) || plan().replicated),
        pack_(!gathers_ && !in_order(plan())),
        reduce_(comm(), plan().reduce, pieces()) {
    require_workspace(plan().replicated ? plan().input.elements() * size()
                      : pack_           ? sum(pieces()) * size()
                                        : 0);
  }

 private:
  std::vector<MPI_Count> pieces() const {
    return gathers_ ? equal_pieces(plan().input.elements(), plan().ranks.size()) : sizes_of_pieces(plan());
  }
  // All pieces, if each member ends with all of them.
  std::byte* gathered() const { return plan().replicated ? workspace() : output(); }

  void send() override {
    if (pack_) pack_sends();
    reduce_.exchange(pack_ ? workspace() : input(), request());
    exchanged_ = false;
  }

  bool proceed() override {
    if (std::exchange(exchanged_, true)) return false;
    reduce_.reduce(gathers_ ? gathered() + reduce_.own_place() : output());
    if (gathers_) reduce_.gather(gathered(), request());
    return gathers_;
  }

  void finish() override {
    if (plan().replicated) copy_runs(plan().receives[plan().self], size(), workspace(), output());
  }

  CollectiveAmounts handed_to_mpi() const override {
    const int64_t all = plan().input.elements();
    if (works_in_place(plan().kind)) return {all, all, plan().flat_share()};
    return {all, 0, fewest(sizes_of_pieces(plan()))};
  }

  const bool gathers_;  // every member ends with all pieces
  const bool pack_;     // members' pieces do not lie one after another
  RoundedReduce reduce_;
  bool exchanged_ = false;
};

// The members' parts arrive straight in their places, or in the workspace if any of them is not contiguous.
class Arrivals {
 public:
  // Offsets count from the start of the output, or of the arrivals in the workspace. Nothing arrives from `left_out`.
  Arrivals(const std::vector<std::vector<Run>>& receives, int64_t size, std::optional<size_t> left_out = {})
      : unpacks_(!are_contiguous(receives)), receives_(receives), size_(size) {
    for (const std::vector<Run>& runs : receives) {
      const int64_t bytes = counts.size() == left_out ? 0 : elements(runs) * size;
      counts.push_back(bytes);
      places.push_back(unpacks_ || runs.empty() ? bytes_ : runs[0].to * size);
      if (unpacks_) bytes_ += bytes;
    }
  }

  bool unpacks() const { return unpacks_; }
  // Bytes of workspace.
  int64_t bytes() const { return bytes_; }
  void unpack(const std::byte* arrived, std::byte* output) const {
    if (!unpacks_) return;
    for (size_t m = 0; m < receives_.size(); ++m)
      if (counts[m] > 0) unpack_runs(receives_[m], size_, arrived + places[m], output);
  }

  std::vector<MPI_Count> counts;  // bytes
  std::vector<MPI_Aint> places;

 private:
  bool unpacks_;
  const std::vector<std::vector<Run>>& receives_;
  int64_t size_;
  int64_t bytes_ = 0;
};

class MpiAllGather : public MpiCollective {
 public:
  explicit MpiAllGather(MpiSite site) : MpiCollective(std::move(site)), arrivals_(plan().receives, size()) {
    check_invariant(elements(plan().receives[plan().self]) == plan().input.elements(),
                    "an all_gather drops a part of its input");
    require_workspace(arrivals_.bytes());
  }

 private:
  std::byte* arriving() const { return arrivals_.unpacks() ? workspace() : output(); }

  void send() override {
    const void* source = input();
    const MPI_Count own = plan().input.elements() * size();
    if (plan().in_place() && !arrivals_.unpacks()) {
      std::memmove(output() + arrivals_.places[plan().self], input(), static_cast<size_t>(own));
      source = MPI_IN_PLACE;
    }
    check_mpi(MPI_Iallgatherv_c(source, own, MPI_BYTE, arriving(), arrivals_.counts.data(),
                                arrivals_.places.data(), MPI_BYTE, comm(), request()),
              "MPI_Iallgatherv_c");
  }

  void finish() override { arrivals_.unpack(arriving(), output()); }

  CollectiveAmounts handed_to_mpi() const override {
    return {plan().input.elements(), sum(arrivals_.counts) / size(), fewest(arrivals_.counts) / size()};
  }

  Arrivals arrivals_;
};

// An all_to_all or an exchange: each member sends any elements to each other one.
class MpiExchange : public MpiCollective {
 public:
  explicit MpiExchange(MpiSite site)
      : MpiCollective(std::move(site)), arrivals_(plan().receives, size(), plan().self) {
    // If the output takes the place of the input, everything must have left before anything arrives. Otherwise a
    // device's own part is copied straight to its place.
    pack_ = plan().in_place() || !are_contiguous(plan().sends);
    for (size_t member = 0; member < plan().sends.size(); ++member) {
      const std::vector<Run>& runs = plan().sends[member];
      const bool is_own = member == plan().self;
      counts_.push_back(is_own ? 0 : elements(runs) * size());
      places_.push_back(pack_ || runs.empty() ? packed_bytes_ : runs[0].from * size());
      if (pack_ && (!is_own || plan().in_place())) packed_bytes_ += elements(runs) * size();
    }
    require_workspace(aligned(packed_bytes_) + arrivals_.bytes());
  }

 private:
  std::byte* arriving() const {
    return arrivals_.unpacks() ? workspace() + aligned(packed_bytes_) : output();
  }

  void send() override {
    const std::vector<Run>& own = plan().receives[plan().self];
    if (pack_) pack();
    if (plan().in_place())
      unpack_runs(own, size(), workspace() + places_[plan().self], output());
    else
      copy_runs(own, size(), input(), output());
    check_mpi(
        MPI_Ialltoallv_c(pack_ ? workspace() : input(), counts_.data(), places_.data(), MPI_BYTE, arriving(),
                         arrivals_.counts.data(), arrivals_.places.data(), MPI_BYTE, comm(), request()),
        "MPI_Ialltoallv_c");
  }

  void pack() const {
    for (size_t member = 0; member < plan().sends.size(); ++member)
      if (member != plan().self || plan().in_place())
        pack_runs(plan().sends[member], size(), input(), workspace() + places_[member]);
  }

  void finish() override { arrivals_.unpack(arriving(), output()); }

  CollectiveAmounts handed_to_mpi() const override {
    return {plan().input.elements(), 0, sum(counts_) / size()};
  }

  Arrivals arrivals_;
  std::vector<MPI_Count> counts_;  // bytes for each member
  std::vector<MPI_Aint> places_;   // in the input, or in the workspace
  bool pack_ = false;              // sends go through the workspace
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
    if (!works_in_place(plan_.kind))
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
  MpiSite site{std::move(plan), comm, op, arena, waiting};
  if (reduces(site.plan.kind) && site.plan.dtype == DType::kBF16)
    return std::make_unique<MpiRoundedReduce>(std::move(site));
  switch (site.plan.kind) {
    case CollectiveKind::kAllReduce:
      return std::make_unique<MpiAllReduce>(std::move(site));
    case CollectiveKind::kReduceScatter:
      return std::make_unique<MpiReduceScatter>(std::move(site));
    case CollectiveKind::kAllGather:
      return std::make_unique<MpiAllGather>(std::move(site));
    case CollectiveKind::kPermute:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kExchange:
      return std::make_unique<MpiExchange>(std::move(site));
  }
  throw InternalError("a collective of an unknown kind");
}

std::unique_ptr<PreparedCollective> exchange_alone(CollectivePlan plan, const Arena& arena) {
  return std::make_unique<Alone>(std::move(plan), arena);
}

}  // namespace mtfc
