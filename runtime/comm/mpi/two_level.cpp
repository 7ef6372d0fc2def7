#include "runtime/comm/mpi/two_level.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "core/diagnostics/error.h"
#include "runtime/comm/mpi/rounded_reduce.h"
#include "runtime/comm/node/node_collective.h"
#include "runtime/comm/node/reduce_across.h"
#include "runtime/memory/bulk_copy.h"
#include "runtime/memory/runs.h"
#include "runtime/processes/mpi_calls.h"

namespace mtfc {
namespace {

constexpr int64_t kChunkBytes = int64_t{1} << 20;    // of an all_reduce, for each member that exchanges it
constexpr int64_t kMessageBytes = int64_t{1} << 18;  // of one message, since larger ones are slower over TCP
constexpr int64_t kSentWhole = int64_t{1} << 19;     // the largest share that two nodes send each other whole
constexpr size_t kMostChunks = 4;                    // under way at once
constexpr int64_t kCopiedAtOnce = int64_t{1} << 18;  // bytes between two looks at messages

// Requests of messages that are under way.
class Messages {
 public:
  Messages(MPI_Comm comm, int tag) : comm_(comm), tag_(tag) {}

  void send(const std::byte* from, int64_t bytes, size_t to) {
    for (int64_t at = 0; at < bytes; at += kMessageBytes)
      check_mpi(MPI_Isend_c(from + at, std::min(kMessageBytes, bytes - at), MPI_BYTE, static_cast<int>(to),
                            tag_, comm_, add()),
                "MPI_Isend_c");
  }
  void receive(std::byte* to, int64_t bytes, size_t from) {
    for (int64_t at = 0; at < bytes; at += kMessageBytes)
      check_mpi(MPI_Irecv_c(to + at, std::min(kMessageBytes, bytes - at), MPI_BYTE, static_cast<int>(from),
                            tag_, comm_, add()),
                "MPI_Irecv_c");
  }
  // Lets messages move; returns whether all have arrived.
  bool have_arrived() {
    if (requests_.empty()) return true;
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done) requests_.clear();
    return done != 0;
  }

 private:
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  MPI_Comm comm_;
  int tag_;
  std::vector<MPI_Request> requests_;
};

// The common part: messages move while the device computes, and its wait lasts until it has received its share.
class TwoLevel : public NodeCollective {
 public:
  TwoLevel(const CollectivePlan& plan, NodeSite site, NodeMessages messages)
      : NodeCollective(plan, std::move(site)), messages_(std::move(messages)) {}

  void progress() final { advance(); }

 protected:
  // Does a little of what can be done now. Returns true once this device has sent and received everything. Called at
  // any time between start and the end of wait.
  virtual bool advance() = 0;

  void complete_messages() {
    Patience patience(messages_.waiting.watchdog, plan_.ranks);
    while (!advance()) {
      site_.idle();
      if (messages_.waiting.yields) sched_yield();
      patience.poll();
    }
  }

  // Copies runs, as copy_runs() does, and lets messages move now and then.
  void copy_while_moving(const std::vector<Run>& runs, const std::byte* from, std::byte* to) {
    const int64_t most = kCopiedAtOnce / size();
    std::vector<Run> batch;
    int64_t count = 0;
    for (Run run : runs)
      while (run.length > 0) {
        const int64_t length = std::min(run.length, most - count);
        batch.push_back({run.from, run.to, length, run.from_step, run.to_step});
        run.from += length * run.from_step;
        run.to += length * run.to_step;
        run.length -= length;
        count += length;
        if (count < most) continue;
        copy_runs(batch, size(), from, to);
        batch.clear();
        count = 0;
        advance();
      }
    copy_runs(batch, size(), from, to);
  }

  const GroupNodes& nodes() const { return messages_.nodes; }
  // The other nodes in turn, beginning with the one after this, so that they don't all send to the same.
  size_t other_node(size_t turn) const { return (nodes().here + turn) % nodes().members.size(); }
  // The member of `node` that this one exchanges messages with.
  size_t counterpart(size_t node) const { return nodes().counterpart(node, nodes().position); }

  Messages messages(int phase = 0) const { return {messages_.comm, messages_.tag + phase}; }

 private:
  const NodeMessages messages_;
};

//   share of a member     |  chunk 0  |  chunk 1  | ...
//   chunk, on 2 nodes     X: x0 x1   Y: y0 y1       (sums over each node)
//   exchange              X: x0 y0   Y: x1 y1       each node reduces its piece, in the order of nodes
//   gather                X and Y: x0+y0 x1+y1
// If nodes have different numbers of members, only as many per node exchange messages as the smallest node has. Between
// two nodes, a small share is sent once each way: each node sends its whole sum, and both add the two sums in the same
// order.
class TwoLevelAllReduce : public TwoLevel {
 public:
  TwoLevelAllReduce(const CollectivePlan& plan, NodeSite site, NodeMessages messages)
      : TwoLevel(plan, std::move(site), std::move(messages)),
        reduce_(reduce_across(plan.reduce, plan.dtype)),
        chunk_(kChunkBytes / size()) {
    const size_t carriers = nodes().fewest();
    if (self() < carriers) share_ = share_of(plan_.input.elements(), size(), self(), carriers);
    at_once_ = nodes().members.size() == 2 && share_.count() * size() <= kSentWhole;
  }

  void start() override {
    NodeCollective::start();
    has_operands_ = false;
    next_ = share_.begin;
  }

  void wait() override {
    complete_messages();
    meet();
  }

 private:
  // A chunk on its way. Pieces are by node.
  struct Chunk {
    int64_t begin, count;
    std::vector<MPI_Count> pieces;  // elements
    Messages messages;
    std::vector<std::byte>
        arrived;  // operands of this node's piece, those of other nodes in the order of nodes
    bool gathers = false;

    int64_t place_of(size_t node) const {  // in elements, from `begin`
      int64_t place = 0;
      for (size_t i = 0; i < node; ++i) place += pieces[i];
      return place;
    }
  };

  bool advance() override {
    if (next_ < share_.end && !has_operands_ && !(has_operands_ = has_operands())) return false;
    if (next_ < share_.end && under_way_.size() < kMostChunks) begin_chunk();
    // Chunks gather in turn, whichever arrives first, because their messages have the same tag.
    for (Chunk& chunk : under_way_) {
      if (chunk.gathers) continue;
      if (!chunk.messages.have_arrived()) break;
      gather(chunk);
    }
    while (!under_way_.empty() && under_way_.front().gathers && under_way_.front().messages.have_arrived()) {
      copy_to_neighbours(under_way_.front());
      spare_.push_back(std::move(under_way_.front().arrived));
      under_way_.pop_front();
    }
    return next_ == share_.end && under_way_.empty();
  }

  std::byte* own(const Chunk& chunk) const { return output(self()) + chunk.begin * size(); }

  void begin_chunk() {
    const int64_t count = std::min(chunk_, share_.end - next_);
    const size_t all = nodes().members.size();
    std::vector<MPI_Count> pieces = at_once_ ? std::vector<MPI_Count>(all, count) : equal_pieces(count, all);
    Chunk& chunk = under_way_.emplace_back(Chunk{next_, count, std::move(pieces), messages(0), {}});
    next_ += count;
    std::vector<const std::byte*> operands;
    for (size_t m = 0; m < members(); ++m) operands.push_back(input(m) + chunk.begin * size());
    std::byte* const sum = own(chunk);
    reduce_(operands, std::span(&sum, 1), count);
    if (!spare_.empty()) {
      chunk.arrived = std::move(spare_.back());
      spare_.pop_back();
    }
    const int64_t bytes = chunk.pieces[nodes().here] * size();
    chunk.arrived.resize((all - 1) * static_cast<size_t>(bytes));
    for (size_t turn = 1; turn < all; ++turn) {
      const size_t node = other_node(turn);
      const std::byte* piece = at_once_ ? sum : sum + chunk.place_of(node) * size();
      chunk.messages.receive(arrived_from(chunk, node), bytes, counterpart(node));
      chunk.messages.send(piece, chunk.pieces[node] * size(), counterpart(node));
    }
  }

  std::byte* arrived_from(Chunk& chunk, size_t node) const {
    const auto slot = static_cast<int64_t>(node < nodes().here ? node : node - 1);
    return chunk.arrived.data() + slot * chunk.pieces[nodes().here] * size();
  }

  // Reduces this node's piece, and sends it to the others.
  void gather(Chunk& chunk) {
    const size_t all = nodes().members.size();
    const int64_t count = chunk.pieces[nodes().here];
    std::byte* const piece = own(chunk) + (at_once_ ? 0 : chunk.place_of(nodes().here) * size());
    std::vector<const std::byte*> operands;
    for (size_t node = 0; node < all; ++node)
      operands.push_back(node == nodes().here ? piece : arrived_from(chunk, node));
    if (count > 0) reduce_(operands, std::span(&piece, 1), count);
    chunk.gathers = true;
    chunk.messages = messages(1);
    for (size_t turn = 1; turn < all && !at_once_; ++turn) {
      const size_t node = other_node(turn);
      chunk.messages.receive(own(chunk) + chunk.place_of(node) * size(), chunk.pieces[node] * size(),
                             counterpart(node));
      chunk.messages.send(piece, count * size(), counterpart(node));
    }
  }

  void copy_to_neighbours(const Chunk& chunk) const {
    std::vector<std::byte*> places;
    for (size_t turn = 1; turn < members(); ++turn)
      places.push_back(output(other(turn)) + chunk.begin * size());
    if (!places.empty()) copy_to_all(own(chunk), places, chunk.count * size());
  }

  const ReduceAcross reduce_;
  const int64_t chunk_;  // elements
  Share share_;          // empty if this member exchanges nothing
  bool at_once_ = false;
  bool has_operands_ = false;
  int64_t next_ = 0;  // the first element that is not under way
  std::deque<Chunk> under_way_;
  std::vector<std::vector<std::byte>> spare_;
};

// The parts of a workspace for a reduce_scatter: the sums that a member sends, its own one, and those that it receives.
struct ScatterSpace {
  std::vector<size_t>
      carried;  // members of other nodes that this one sends their piece to, in order of distance
  std::vector<int64_t> places;  // of these pieces, in elements
  int64_t own = 0, arrivals = 0, end = 0;
};

ScatterSpace scatter_space(const CollectivePlan& plan, const GroupNodes& nodes, size_t node,
                           size_t position) {
  ScatterSpace space;
  const size_t all = nodes.members.size(), here = nodes.members[node].size();
  for (size_t turn = 1; turn < all; ++turn) {
    const std::vector<size_t>& there = nodes.members[(node + turn) % all];
    for (size_t at = position; at < there.size(); at += here) {
      space.carried.push_back(there[at]);
      space.places.push_back(space.own);
      space.own += elements(plan.sends[there[at]]);
    }
  }
  const int64_t piece = elements(plan.sends[nodes.members[node][position]]);
  space.arrivals = space.own + piece;
  space.end = space.arrivals + static_cast<int64_t>(all - 1) * piece;
  return space;
}

//   operands on X   a: a1 a2 a3 a4   b: b1 b2 b3 b4
//   a adds up a3+b3 and sends it to c, b adds up a4+b4 and sends it to d
//   a adds up a1+b1, to which it adds what c has sent
class TwoLevelReduceScatter : public TwoLevel {
 public:
  TwoLevelReduceScatter(const CollectivePlan& plan, NodeSite site, NodeMessages messages)
      : TwoLevel(plan, std::move(site), std::move(messages)),
        reduce_(reduce_across(plan.reduce, plan.dtype)),
        space_(scatter_space(plan, nodes(), nodes().here, nodes().position)),
        under_way_(TwoLevel::messages()) {}

  void start() override {
    NodeCollective::start();
    has_operands_ = false;
    sent_ = 0;
    const int64_t bytes = piece_count() * size();
    for (size_t turn = 1; turn < nodes().members.size(); ++turn) {
      const size_t node = other_node(turn);
      under_way_.receive(arrived_from(node), bytes, counterpart(node));
    }
  }

  void wait() override {
    complete_messages();
    await_operands();
    std::byte* const own = workspace() + space_.own * size();
    add_up(plan_.self, own);
    std::vector<const std::byte*> sums;
    for (size_t node = 0; node < nodes().members.size(); ++node)
      sums.push_back(node == nodes().here ? own : arrived_from(node));
    std::byte* const result = output(self());
    if (plan_.in_place()) meet();  // until then neighbours may read what the result overwrites
    if (piece_count() > 0) reduce_(sums, std::span(&result, 1), piece_count());
    if (!plan_.in_place()) meet();
  }

 private:
  bool advance() override {
    if (sent_ < space_.carried.size() && !has_operands_ && !(has_operands_ = has_operands())) return false;
    if (sent_ < space_.carried.size()) {
      const size_t to = space_.carried[sent_];
      std::byte* const sum = workspace() + space_.places[sent_] * size();
      add_up(to, sum);
      under_way_.send(sum, elements(plan_.sends[to]) * size(), to);
      ++sent_;
    }
    return under_way_.have_arrived() && sent_ == space_.carried.size();
  }

  // Adds up the piece of a member of the group over this node.
  void add_up(size_t member, std::byte* sum) const {
    std::vector<const std::byte*> operands(members());
    for (const Run& run : plan_.sends[member]) {
      for (size_t m = 0; m < members(); ++m) operands[m] = input(m) + run.from * size();
      reduce_(operands, std::span(&sum, 1), run.length);
      sum += run.length * size();
    }
  }

  int64_t piece_count() const { return elements(plan_.sends[plan_.self]); }
  std::byte* arrived_from(size_t node) const {
    const auto slot = static_cast<int64_t>(node < nodes().here ? node : node - 1);
    return workspace() + (space_.arrivals + slot * piece_count()) * size();
  }

  const ReduceAcross reduce_;
  const ScatterSpace space_;
  Messages under_way_;
  bool has_operands_ = false;
  size_t sent_ = 0;  // how many of the carried pieces
};

//   parts    X: a b   Y: c d
//   messages       c receives a, d receives b
//   then           c copies d, and what d has received
// If the result takes the operand's place, each member first moves its part to its final offset, as inside a node.
class TwoLevelAllGather : public TwoLevel {
 public:
  TwoLevelAllGather(const CollectivePlan& plan, NodeSite site, NodeMessages messages)
      : TwoLevel(plan, std::move(site), std::move(messages)),
        arrived_(plan.receives),
        packs_(!are_contiguous(plan.receives)),
        under_way_(TwoLevel::messages()) {
    for (std::vector<Run>& runs : arrived_)
      for (Run& run : runs) {
        run.from = run.to;
        run.from_step = run.to_step;
      }
  }

  void start() override {
    const std::vector<Run>& own = plan_.receives[plan_.self];
    const int64_t bytes = elements(own) * size();
    const std::byte* part = input(self());
    if (plan_.in_place()) {
      if (packs_) {
        std::memcpy(workspace(), part, static_cast<size_t>(bytes));
        part = workspace();
      } else if (!own.empty()) {
        part = output(self()) + own[0].to * size();
      }
      spread_runs(own, size(), output(self()));
    }
    NodeCollective::start();
    std::byte* next = workspace() + aligned(bytes);
    for (size_t turn = 1; turn < nodes().members.size(); ++turn) {
      const size_t node = other_node(turn);
      for (const size_t from : received_by(nodes().here, nodes().position, node)) {
        const std::vector<Run>& runs = plan_.receives[from];
        std::byte* const place = packs_ ? next : runs.empty() ? next : output(self()) + runs[0].to * size();
        under_way_.receive(place, elements(runs) * size(), from);
        next += elements(runs) * size();
      }
      under_way_.send(part, bytes, counterpart(node));
    }
  }

  void wait() override {
    if (!plan_.in_place()) copy_while_moving(plan_.receives[plan_.self], input(self()), output(self()));
    await_operands();
    for (size_t turn = 1; turn < members(); ++turn) {
      const size_t neighbour = other(turn), member = nodes().members[nodes().here][neighbour];
      if (plan_.in_place())
        copy_while_moving(arrived_[member], output(neighbour), output(self()));
      else
        copy_while_moving(plan_.receives[member], input(neighbour), output(self()));
    }
    complete_messages();
    if (packs_) unpack();
    meet();
    for (size_t turn = 1; turn < members(); ++turn) copy_received(other(turn));
    meet();
  }

 private:
  bool advance() override { return under_way_.have_arrived(); }

  // The members of `node` that send their part to the member at `position` of node `here`.
  std::vector<size_t> received_by(size_t here, size_t position, size_t node) const {
    std::vector<size_t> senders;
    for (size_t at = position; at < nodes().members[node].size(); at += nodes().members[here].size())
      senders.push_back(nodes().members[node][at]);
    return senders;
  }

  void unpack() const {
    const std::byte* next = workspace() + aligned(elements(plan_.receives[plan_.self]) * size());
    for (size_t turn = 1; turn < nodes().members.size(); ++turn)
      for (const size_t from : received_by(nodes().here, nodes().position, other_node(turn)))
        next = unpack_runs(plan_.receives[from], size(), next, output(self()));
  }

  // Copies what `neighbour` has received.
  void copy_received(size_t neighbour) const {
    for (size_t turn = 1; turn < nodes().members.size(); ++turn)
      for (const size_t from : received_by(nodes().here, neighbour, other_node(turn)))
        copy_runs(arrived_[from], size(), output(neighbour), output(self()));
  }

  std::vector<std::vector<Run>>
      arrived_;       // the members' parts from their places in the result to the same places
  const bool packs_;  // parts are not contiguous in the result
  Messages under_way_;
};

//   operands   X: a b   Y: c d
//   c and d send a what it gets from them, while a copies what it gets from b
// If the result takes the operand's place, it is put together in the workspace, and moved when no neighbour reads the
// operand any more. Otherwise only what arrives by messages goes through the workspace, and only if it is not
// contiguous.
class TwoLevelExchange : public TwoLevel {
 public:
  TwoLevelExchange(const CollectivePlan& plan, NodeSite site, NodeMessages messages)
      : TwoLevel(plan, std::move(site), std::move(messages)),
        packs_(!are_contiguous(plan.sends)),
        unpacks_(plan.in_place() || !are_contiguous(plan.receives)),
        sent_from_(plan.ranks.size()),
        received_at_(plan.ranks.size()),
        under_way_(TwoLevel::messages()) {
    for (size_t turn = 1; turn < nodes().members.size(); ++turn)
      for (size_t at = 0, all = nodes().members[other_node(turn)].size(); at < all; ++at)
        remote_.push_back(nodes().counterpart(other_node(turn), nodes().position + at));
    int64_t end = 0;
    const auto place = [&](const std::vector<Run>& runs) {
      return std::exchange(end, end + elements(runs) * size());
    };
    for (const size_t member : remote_)
      if (packs_) sent_from_[member] = place(plan.sends[member]);
    end = aligned(end);
    for (const size_t member : remote_)
      if (unpacks_) received_at_[member] = place(plan.receives[member]);
    for (const size_t member : local())
      if (plan.in_place()) received_at_[member] = place(plan.receives[member]);
    check_invariant(end <= plan.workspace_bytes, "an exchange has too little workspace");
  }

  void start() override {
    if (!plan_.fill.empty() && !plan_.in_place())
      fill_elements(plan_.fill, plan_.output.elements(), output(self()));
    NodeCollective::start();
    for (const size_t member : remote_) {
      const std::vector<Run>&to = plan_.receives[member], &from = plan_.sends[member];
      if (!to.empty())
        under_way_.receive(unpacks_ ? arrived_from(member) : output(self()) + to[0].to * size(),
                           elements(to) * size(), member);
      if (from.empty()) continue;
      std::byte* const packed = workspace() + sent_from_[member];
      if (packs_) pack_runs(from, size(), input(self()), packed);
      under_way_.send(packs_ ? packed : input(self()) + from[0].from * size(), elements(from) * size(),
                      member);
    }
  }

  void wait() override {
    fetch(self());
    await_operands();
    for (size_t turn = 1; turn < members(); ++turn) fetch(other(turn));
    complete_messages();
    if (plan_.in_place()) meet();
    if (!plan_.fill.empty() && plan_.in_place())
      fill_elements(plan_.fill, plan_.output.elements(), output(self()));
    if (unpacks_)
      for (const size_t member : remote_) unpack(member);
    if (plan_.in_place())
      for (const size_t member : local()) unpack(member);
    else
      meet();
  }

 private:
  bool advance() override { return under_way_.have_arrived(); }

  const std::vector<size_t>& local() const { return nodes().members[nodes().here]; }
  std::byte* arrived_from(size_t member) const { return workspace() + received_at_[member]; }

  // Copies what this device gets from a neighbour.
  void fetch(size_t neighbour) {
    const size_t member = local()[neighbour];
    if (!plan_.in_place()) return copy_while_moving(plan_.receives[member], input(neighbour), output(self()));
    std::vector<Run> packed = plan_.receives[member];
    int64_t next = 0;
    for (Run& run : packed) {
      run.to = std::exchange(next, next + run.length);
      run.to_step = 1;
    }
    copy_while_moving(packed, input(neighbour), arrived_from(member));
  }

  void unpack(size_t member) const {
    unpack_runs(plan_.receives[member], size(), arrived_from(member), output(self()));
  }

  const bool packs_, unpacks_;
  std::vector<size_t> remote_;                    // members on other nodes, in order of distance
  std::vector<int64_t> sent_from_, received_at_;  // by member: bytes in the workspace
  Messages under_way_;
};

}  // namespace

size_t GroupNodes::fewest() const {
  size_t count = SIZE_MAX;
  for (const std::vector<size_t>& node : members) count = std::min(count, node.size());
  return count;
}

size_t GroupNodes::most() const {
  size_t count = 0;
  for (const std::vector<size_t>& node : members) count = std::max(count, node.size());
  return count;
}

GroupNodes group_nodes(const CollectivePlan& plan, const std::vector<int>& node_of) {
  std::map<int, std::vector<size_t>> by_node;
  for (size_t m = 0; m < plan.ranks.size(); ++m)
    by_node[node_of[static_cast<size_t>(plan.ranks[m])]].push_back(m);
  GroupNodes nodes;
  for (auto& [node, members] : by_node) {
    const auto self = std::find(members.begin(), members.end(), plan.self);
    if (self != members.end()) {
      nodes.here = nodes.members.size();
      nodes.position = static_cast<size_t>(self - members.begin());
    }
    nodes.members.push_back(std::move(members));
  }
  return nodes;
}

bool has_two_levels(const CollectivePlan& plan, const GroupNodes& nodes) {
  if (plan.kind != CollectiveKind::kReduceScatter) return true;
  if (plan.replicated) return false;
  for (size_t node = 0; node < nodes.members.size(); ++node)
    for (size_t position = 0; position < nodes.members[node].size(); ++position)
      if (scatter_space(plan, nodes, node, position).end * size_of(plan.dtype) > plan.workspace_bytes)
        return false;
  return true;
}

std::unique_ptr<PreparedCollective> two_level(const CollectivePlan& plan, NodeSite site,
                                              NodeMessages messages) {
  check_invariant(messages.nodes.members[messages.nodes.here].size() == site.group.size(),
                  "the members on a node differ from those that share memory");
  switch (plan.kind) {
    case CollectiveKind::kAllReduce:
      return std::make_unique<TwoLevelAllReduce>(plan, std::move(site), std::move(messages));
    case CollectiveKind::kReduceScatter:
      return std::make_unique<TwoLevelReduceScatter>(plan, std::move(site), std::move(messages));
    case CollectiveKind::kAllGather:
      return std::make_unique<TwoLevelAllGather>(plan, std::move(site), std::move(messages));
    case CollectiveKind::kPermute:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kExchange:
      return std::make_unique<TwoLevelExchange>(plan, std::move(site), std::move(messages));
  }
  throw InternalError("a collective of an unknown kind");
}

}  // namespace mtfc
