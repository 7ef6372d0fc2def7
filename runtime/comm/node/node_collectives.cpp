#include "runtime/comm/node/node_collectives.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/diagnostics/error.h"
#include "runtime/comm/node/node_collective.h"
#include "runtime/comm/node/reduce_across.h"
#include "runtime/memory/bulk_copy.h"
#include "runtime/memory/runs.h"

namespace mtfc {
namespace {

//   before   A: a a a   B: b b b   C: c c c
// A sums the first elements of all members and writes the result to all, B the second, C the third, in place:
//   after    A: s s s   B: s s s   C: s s s
// Each element is read and written by one member only, so the result may take the operand's place, and all
// copies are bitwise equal. Operands that fit a mailbox are read there by all members without a further wait,
// and all reduce them in the same order.
class NodeAllReduce : public NodeCollective {
 public:
  NodeAllReduce(const CollectivePlan& plan, NodeSite site)
      : NodeCollective(plan, std::move(site)),
        reduce_(reduce_across(plan.reduce, plan.dtype)),
        whole_(plan.input.elements()),
        small_(whole_ * size() <= kMailboxBytes),
        shares_(shares_parts(whole_ * size())) {
    inputs_.resize(members());
    outputs_.resize(members());
  }

  void start() override {
    if (small_) mailbox_ = group_.take_mailbox(site_.idle);
    if (mailbox_ && whole_ > 0)
      std::memcpy(group_.mail(self(), *mailbox_), input(self()), static_cast<size_t>(whole_ * size()));
    NodeCollective::start();
  }

  void wait() override {
    await_operands();
    if (mailbox_) {
      reduce_mail();
      return;
    }
    do_parts(shares_, [&](size_t part) { reduce_share(share_of(whole_, size(), part, members())); });
  }

 private:
  void reduce_mail() {
    for (size_t m = 0; m < members(); ++m) inputs_[m] = group_.mail(m, *mailbox_);
    outputs_[0] = output(self());
    reduce_(inputs_, std::span(outputs_).first(1), whole_);
    group_.give_back(*mailbox_);
    mailbox_.reset();
  }

  void reduce_share(const Share& share) {
    if (share.count() == 0) return;
    const int64_t offset = share.begin * size();
    for (size_t m = 0; m < members(); ++m) {
      inputs_[m] = input(m) + offset;
      outputs_[m] = output(m) + offset;
    }
    reduce_(inputs_, outputs_, share.count());
  }

  const ReduceAcross reduce_;
  const int64_t whole_;
  const bool small_, shares_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::optional<int> mailbox_;
};

bool same_elements(const std::vector<Run>& a, const std::vector<Run>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Run& x, const Run& y) { return x.from == y.from && x.length == y.length; });
}

// Share `index` of the elements of `runs` divided into `parts`.
std::vector<Run> runs_of_share(const std::vector<Run>& runs, int64_t size, size_t index, size_t parts) {
  const Share share = share_of(elements(runs), size, index, parts);
  std::vector<Run> cut;
  int64_t passed = 0;
  for (const Run& run : runs) {
    const int64_t begin = std::max<int64_t>(share.begin - passed, 0);
    const int64_t end = std::min(share.end - passed, run.length);
    if (begin < end) cut.push_back({run.from + begin, run.to + begin, end - begin});
    passed += run.length;
  }
  return cut;
}

//   before   A: a1 a2 a3   B: b1 b2 b3   C: c1 c2 c3
//   A sums the first elements of all, B the second ones, C the third ones:
//   after    A: s1         B: s2         C: s3
// If the result takes the operand's place, a sum is first written over its own part of the operand, which no
// other member reads (A: s1 a2 a3, B: b1 s2 b3, C: c1 c2 s3), and moved to the front when all are done.
// Members that end with the same piece share the work and write to each other.
class NodeReduceScatter : public NodeCollective {
 public:
  NodeReduceScatter(const CollectivePlan& plan, NodeSite site)
      : NodeCollective(plan, std::move(site)),
        reduce_(reduce_across(plan.reduce, plan.dtype)),
        shares_(shares_parts(plan.input.elements() * size())),
        inputs_(members()),
        parts_(members()) {
    for (size_t m = 0; m < members(); ++m)
      if (shares_ || m == self()) parts_[m] = part_of(m);
  }

  void wait() override {
    await_operands();
    do_parts(shares_, [&](size_t member) {
      for (const Run& run : parts_[member].share) reduce_run(parts_[member].replicas, run);
    });
    if (plan_.in_place()) copy_runs(plan_.receives[self()], size(), input(self()), output(self()));
  }

 private:
  struct Part {
    std::vector<size_t> replicas;  // all members that end with this piece
    std::vector<Run> share;        // the part's share of that piece
  };

  // All operands have the same layout, so plan_.sends[member] also says where the other members' operands hold that
  // member's piece.
  Part part_of(size_t member) const {
    const std::vector<Run>& piece = plan_.sends[member];
    check_invariant(
        std::all_of(piece.begin(), piece.end(), [](const Run& run) { return run.is_contiguous(); }),
        "a reduce_scatter has strided runs");
    Part part;
    size_t index = 0;
    for (size_t m = 0; m < members(); ++m) {
      if (m == member) index = part.replicas.size();
      if (m == member || same_elements(plan_.sends[m], piece)) part.replicas.push_back(m);
    }
    part.share = runs_of_share(piece, size(), index, part.replicas.size());
    return part;
  }

  void reduce_run(const std::vector<size_t>& replicas, const Run& run) {
    for (size_t m = 0; m < members(); ++m) inputs_[m] = input(m) + run.from * size();
    const int64_t to = (plan_.in_place() ? run.from : run.to) * size();
    outputs_.clear();
    for (const size_t m : replicas) outputs_.push_back(output(m) + to);
    reduce_(inputs_, outputs_, run.length);
  }

  const ReduceAcross reduce_;
  const bool shares_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::vector<Part> parts_;  // by member; empty if this one never does it
};

//   before   A: a       B: b       C: c
//   after    A: a b c   B: a b c   C: a b c      every member copies what it lacks
// If the result takes the operand's place, each member first moves its own part to its final offset, where
// the others find it, because nobody else writes there:
//   moved    A: a . .   B: . b .   C: . . c
// Large contiguous parts are pushed instead, from each member to all, so that they are read once.
class NodeAllGather : public NodeCollective {
 public:
  NodeAllGather(const CollectivePlan& plan, NodeSite site)
      : NodeCollective(plan, std::move(site)),
        runs_(plan.receives),
        sends_(is_bulk(plan)),
        shares_(shares_parts(plan.output.elements() * size())) {
    for (size_t m = 0; m < members(); ++m)
      check_invariant(same_runs(plan_.sends[m], own_runs()), "members of an all_gather end with other parts");
    places_.resize(members());
    if (!plan_.in_place()) return;
    int64_t moved = 0;
    for (const Run& run : own_runs()) {
      check_invariant(run.is_contiguous() && run.to >= run.from && run.from == moved,
                      "an all_gather moves its own part to the front");
      moved += run.length;
    }
    check_invariant(moved == plan_.input.elements(), "an all_gather drops a part of its input");
    for (std::vector<Run>& runs : runs_)
      for (Run& run : runs) {
        run.from = run.to;
        run.from_step = run.to_step;
      }
  }

  void start() override {
    if (plan_.in_place()) spread_runs(plan_.receives[self()], size(), output(self()));
    NodeCollective::start();
  }

  void wait() override {
    const bool copies_own = !sends_ && !plan_.in_place();
    if (copies_own && !shares_) fetch(self(), self());  // while others may be late
    await_operands();
    const size_t first = copies_own && shares_ ? 0 : 1;
    do_parts(shares_, [&](size_t member) {
      if (sends_) return send(member);
      for (size_t turn = first; turn < members(); ++turn) fetch(after(member, turn), member);
    });
  }

 private:
  static bool is_bulk(const CollectivePlan& plan) {
    return are_contiguous(plan.receives) && plan.output.elements() * size_of(plan.dtype) >= kBulkBytes;
  }
  static bool same_runs(const std::vector<Run>& a, const std::vector<Run>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Run& x, const Run& y) { return x.to == y.to && x.length == y.length; });
  }
  const std::vector<Run>& own_runs() const { return runs_[self()]; }

  // All members end with the same result, so this member's list of what comes from `from`, and where it goes, holds for
  // every `to`.
  void fetch(size_t from, size_t to) { copy_runs(runs_[from], size(), input(from), output(to)); }

  void send(size_t member) {
    const size_t first = plan_.in_place() ? 1 : 0;  // a part that is already in place stays there
    for (const Run& run : runs_[member]) {
      for (size_t turn = first; turn < members(); ++turn)
        places_[turn] = output(after(member, turn)) + run.to * size();
      copy_to_all(input(member) + run.from * size(), std::span(places_).subspan(first), run.length * size());
    }
  }

  std::vector<std::vector<Run>> runs_;  // `from` is where a member's part lies once it has arrived
  const bool sends_, shares_;
  std::vector<std::byte*> places_;
};

// Like copy_runs, for regions that don't overlap.
void fetch_runs(const std::vector<Run>& runs, int64_t size, const std::byte* from, std::byte* to) {
  if (runs.size() != 1 || !runs[0].is_contiguous()) return copy_runs(runs, size, from, to);
  std::byte* place = to + runs[0].to * size;
  copy_to_all(from + runs[0].from * size, std::span<std::byte* const>(&place, 1), runs[0].length * size);
}

// Members of an exchange need each other's plans to do parts for each other. In larger groups, or with more runs in
// all, these would take too much memory and time.
constexpr size_t kMostSharers = 32;
constexpr size_t kMostSharedRuns = size_t{1} << 14;

//   before   A: ab ac aa   B: ba bb bc   C: ca cb cc      (xy: what y gets from x)
//   after    A: aa ba ca   B: ab bb cb   C: ac bc cc      every member fetches its elements
// If the result takes the operand's place, it is assembled in the workspace and moved when all have fetched.
class NodeExchange : public NodeCollective {
 public:
  NodeExchange(const CollectivePlan& plan, NodeSite site, const GroupPlans& plans)
      : NodeCollective(plan, std::move(site)) {
    check_invariant(!plan_.in_place() || bytes() <= plan_.workspace_bytes,
                    "an exchange has too little workspace");
    if (!shares_parts(plans.largest_result) || members() > kMostSharers) return;
    size_t runs = 0;  // of all members, so that all come to the same number
    for (size_t m = 0; m < members() && runs <= kMostSharedRuns; ++m) {
      plans_.push_back(plans.of(m));
      plans_[m].sends.clear();
      for (const std::vector<Run>& arriving : plans_[m].receives) runs += arriving.size();
    }
    if (runs > kMostSharedRuns) plans_.clear();
  }

  void wait() override {
    if (plans_.empty()) {
      begin(plan_, self());
      fetch(plan_, self(), self());
      await_operands();
      do_parts(false, [&](size_t member) {
        for (size_t turn = 1; turn < members(); ++turn) fetch(plan_, after(member, turn), member);
      });
    } else {
      await_operands();
      do_parts(true, [&](size_t member) {
        begin(plans_[member], member);
        for (size_t turn = 0; turn < members(); ++turn) fetch(plans_[member], after(member, turn), member);
      });
    }
    if (plan_.in_place() && bytes() > 0)
      std::memcpy(output(self()), workspace(self()), static_cast<size_t>(bytes()));
  }

 private:
  std::byte* result(size_t member) const { return plan_.in_place() ? workspace(member) : output(member); }

  void begin(const CollectivePlan& plan, size_t member) const {
    if (!plan.fill.empty()) fill_elements(plan.fill, plan.output.elements(), result(member));
  }
  // Copies what `to`, whose plan this is, gets from `from`.
  void fetch(const CollectivePlan& plan, size_t from, size_t to) const {
    // The workspace is read again immediately, so it should stay in the cache.
    const auto copy = plan.in_place() ? copy_runs : fetch_runs;
    copy(plan.receives[from], size(), input(from), result(to));
  }
  int64_t bytes() const { return plan_.output.elements() * size(); }

  std::vector<CollectivePlan> plans_;  // by member; empty if each member does its own part
};

}  // namespace

// The last run moves first, because targets lie behind their sources.
void spread_runs(const std::vector<Run>& runs, int64_t size, std::byte* region) {
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    std::memmove(region + run->to * size, region + run->from * size, static_cast<size_t>(run->length * size));
}

std::unique_ptr<PreparedCollective> node_collective(const CollectivePlan& plan, NodeSite site,
                                                    const GroupPlans& plans) {
  check_invariant(plan.ranks.size() == site.group.size() && plan.self == site.group.self(),
                  "a collective inside a node has members elsewhere");
  switch (plan.kind) {
    case CollectiveKind::kAllReduce:
      return std::make_unique<NodeAllReduce>(plan, std::move(site));
    case CollectiveKind::kReduceScatter:
      return std::make_unique<NodeReduceScatter>(plan, std::move(site));
    case CollectiveKind::kAllGather:
      return std::make_unique<NodeAllGather>(plan, std::move(site));
    case CollectiveKind::kPermute:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kExchange:
      return std::make_unique<NodeExchange>(plan, std::move(site), plans);
  }
  throw InternalError("a collective of an unknown kind");
}

}  // namespace mtfc
