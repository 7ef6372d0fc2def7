#include "core/compile/remat_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

#include "core/compile/min_cut.h"
#include "core/cost/cost.h"
#include "core/cost/kernel_time.h"
#include "core/cost/ring_time.h"
#include "core/tensors/sharding.h"

namespace mtfc {
namespace {

constexpr double kCutScale = 1e15;  // of all capacities of a cut together
constexpr double kHighPrice = 1;    // seconds per byte: more than any operation costs
// The memory of the forward pass grows and shrinks by at least this factor between two valleys.
constexpr int64_t kSlope = 2;
constexpr double kSmallest = 1e-6;  // relative difference between prices that are told apart

/// A tensor on the busiest device.
struct Placed {
  LocalType type;
  double collective_s = 0;  // the seconds of the collectives that make it
};

using PlacedTensors = std::map<std::string, Placed, std::less<>>;

int64_t bytes_of(const LocalType& type) {
  return elements(type.dims) * size_of(type.dtype);
}

PlacedTensors placed_tensors(const Program& program, const EntryPoint& entry, const Hardware& hardware) {
  PlacedTensors placed;
  const Mesh& mesh = program.mesh();
  for (const Value& value : entry.values)
    if (tensor_name(value) == value.name)
      placed[value.name].type = {value.type.dtype,
                                 local_dims(value.type.dims, value.sharding, mesh, mesh.last())};
  const TimeCost time = predicted_time(program, entry, predicted_counts(program, entry), hardware);
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[StepIndex(s)];
    if (step.phase != Phase::kForward) continue;
    const auto at = placed.find(tensor_name(step.name));
    if (at == placed.end()) continue;
    if (step.kind() == StepKind::kStart) at->second.collective_s += time.steps[s].seconds;
    if (step.kind() == StepKind::kRing)
      at->second.collective_s += ring_time(entry, step, KernelTime(), mesh, hardware).transfers_s();
  }
  return placed;
}

// Each tensor in its smallest form. The backward pass may read no other one.
PlacedTensors least_tensors(const Program& program, const EntryPoint& entry) {
  PlacedTensors placed;
  const Mesh& mesh = program.mesh();
  for (const Value& value : entry.values) {
    const LocalType type = {value.type.dtype, local_dims(value.type.dims, value.sharding, mesh, mesh.last())};
    const auto [at, is_new] = placed.try_emplace(tensor_name(value), Placed{type});
    if (!is_new && bytes_of(type) < bytes_of(at->second.type)) at->second.type = type;
  }
  return placed;
}

// A constant takes no memory to speak of.
int64_t bytes_kept(const Node& maker, const LocalType& result) {
  return maker.kind == NodeKind::kOp && maker.op->traits.is_constant ? 0 : bytes_of(result);
}

}  // namespace

RematGraph::RematGraph(const std::vector<PreparedModel::Part>& parts, const Program& program,
                       const EntryPoint& entry, const Hardware& hardware, const std::string* after) {
  const PlacedTensors placed =
      after ? least_tensors(program, entry) : placed_tensors(program, entry, hardware);
  for (const PreparedModel::Part& part : parts) {
    const Graph& graph = part.graph.graph;
    const auto local = [&](TensorId id) {
      const auto at = placed.find(graph.tensor(id).name);
      return at != placed.end() ? at->second.type : held_whole(graph.type(id));
    };
    const auto locals = [&](const std::vector<TensorId>& ids) {
      std::vector<LocalType> types;
      for (const TensorId id : ids) types.push_back(local(id));
      return types;
    };
    const TensorId mark = after && !after->empty() ? graph.find(*after) : kNoTensor;
    if (after && !after->empty() && mark == kNoTensor) continue;  // another part has it
    bool counts = mark == kNoTensor;
    PerTensor<int> numbers(graph.tensors().size(), -1);
    for (const Node& node : graph.nodes()) {
      if (node.origin->phase == Phase::kBackward) {
        for (const TensorId id : node.operands)
          if (counts && numbers[id] >= 0) tensors_[static_cast<size_t>(numbers[id])].is_read = true;
        counts = counts || std::find(node.results.begin(), node.results.end(), mark) != node.results.end();
        continue;
      }
      if (is_leaf(node)) continue;
      if (node.origin->phase != Phase::kForward) continue;
      Operation operation;
      operation.can_run_again = node.kind == NodeKind::kOp;
      for (const TensorId id : node.operands)
        if (numbers[id] >= 0) operation.operands.push_back(static_cast<size_t>(numbers[id]));
      if (operation.can_run_again && node.op->family != Family::kRelabel) {
        const std::vector<LocalType> operands = locals(node.operands);
        operation.seconds =
            operation_time(*node.op, {node.attributes, operands}, locals(node.results), hardware).seconds();
      }
      for (const TensorId id : node.results) {
        const auto at = placed.find(graph.tensor(id).name);
        if (at != placed.end())
          operation.seconds += at->second.collective_s / static_cast<double>(part.times);
        numbers[id] = static_cast<int>(tensors_.size());
        operation.results.push_back(tensors_.size());
        tensors_.push_back({graph.tensor(id).name, bytes_kept(node, local(id)), operations_.size(), false});
      }
      operation.seconds *= static_cast<double>(part.times);
      operations_.push_back(std::move(operation));
    }
    if (after)
      count_least_bytes(graph, numbers, mark == kNoTensor ? -1 : graph.tensor(mark).node,
                        [&](TensorId id) { return bytes_of(local(id)); });
    const auto keep = [&](TensorId id) {
      if (numbers[id] >= 0) tensors_[static_cast<size_t>(numbers[id])].bytes = 0;
    };
    // A region computes a copy of this tensor again, so the tensor itself is not kept.
    for (const TensorId id : graph.tensors().ids())
      if (numbers[id] >= 0 && graph.find(graph.tensor(id).name + std::string(kAgain)) != kNoTensor) keep(id);
    for (const NamedTensor& output : part.graph.outputs) keep(output.tensor);
    for (const Assignment& assignment : part.graph.assignments) keep(assignment.value);
  }
}

// Some operations of the backward pass depend on the forward pass alone. Those that are not products may be fused into
// steps of the forward pass, and so run early. Where only such operations read a tensor, their results can be kept in
// its place, so that the tensor counts for no more bytes than these. A result of several tensors counts for each of
// them in part.
void RematGraph::count_least_bytes(const Graph& graph, const PerTensor<int>& numbers, int from,
                                   const std::function<int64_t(TensorId)>& bytes) {
  const auto is_early = [&](TensorId id, const PerTensor<bool>& early) {
    const Node& maker = graph.producer(id);
    return maker.kind != NodeKind::kOp || maker.operands.empty() || numbers[id] >= 0 || early[id];
  };
  PerTensor<bool> early(graph.tensors().size(), false);  // results of such operations
  PerTensor<int64_t> least(graph.tensors().size(), 0);   // what the readers of a tensor need of it at least
  for (const Node& node : graph.nodes()) {
    const bool runs_early = node.kind == NodeKind::kOp && node.origin->phase == Phase::kBackward &&
                            !is_product(*node.op) &&
                            std::all_of(node.operands.begin(), node.operands.end(),
                                        [&](TensorId id) { return is_early(id, early); });
    for (const TensorId id : node.results) early[id] = runs_early;
  }
  const Nodes& nodes = graph.nodes();
  for (size_t n = nodes.size(); n-- > 0;) {
    const Node& node = nodes[n];
    const bool is_forward = node.origin->phase == Phase::kForward;
    if (is_forward) continue;
    const auto made_of = [&](TensorId id) { return numbers[id] >= 0 || early[id]; };
    const auto sources = std::count_if(node.operands.begin(), node.operands.end(), made_of);
    int64_t needed = 0;
    for (const TensorId id : node.results) needed += std::min(bytes(id), least[id]);
    const bool is_later = static_cast<int>(n) > from;
    for (const TensorId id : node.operands) {
      if (!made_of(id)) continue;
      if (early[node.results[0]])
        least[id] += needed / sources;
      else if (is_later)
        least[id] = bytes(id);
      least[id] = std::min(least[id], bytes(id));
    }
  }
  for (const TensorId id : graph.tensors().ids()) {
    if (numbers[id] < 0) continue;
    ForwardTensor& tensor = tensors_[static_cast<size_t>(numbers[id])];
    if (tensor.is_read) tensor.bytes = std::min(tensor.bytes, least[id]);
  }
}

std::vector<size_t> RematGraph::choices() const {
  // If everything is made again, the tensors that the backward pass reads are needed, and all that they are made from.
  const Runs all = runs(RematSet(size(), true));
  std::vector<size_t> found;
  for (size_t t = 0; t < size(); ++t)
    if (all.needed[t] && tensors_[t].bytes > 0 && operations_[tensors_[t].maker].can_run_again)
      found.push_back(t);
  return found;
}

RematGraph::Runs RematGraph::runs(const RematSet& remade) const {
  Runs found{std::vector<bool>(operations_.size(), false), std::vector<bool>(size(), false)};
  for (size_t t = 0; t < size(); ++t) found.needed[t] = tensors_[t].is_read;
  // Operations come after those that make their operands.
  for (size_t o = operations_.size(); o-- > 0;) {
    const Operation& operation = operations_[o];
    const bool is_run = operation.can_run_again &&
                        std::any_of(operation.results.begin(), operation.results.end(), [&](size_t t) {
                          return found.needed[t] && remade[t] && tensors_[t].bytes > 0;
                        });
    found.operations[o] = is_run;
    if (is_run)
      for (const size_t t : operation.operands) found.needed[t] = true;
  }
  return found;
}

RematSet RematGraph::effective(const RematSet& remade) const {
  const Runs found = runs(remade);
  RematSet made = nothing();
  for (size_t t = 0; t < size(); ++t)
    made[t] = remade[t] && found.needed[t] && found.operations[tensors_[t].maker] && tensors_[t].bytes > 0;
  return made;
}

double RematGraph::seconds(const RematSet& remade) const {
  const Runs found = runs(remade);
  double sum = 0;
  for (size_t o = 0; o < operations_.size(); ++o)
    if (found.operations[o]) sum += operations_[o].seconds;
  return sum;
}

int64_t RematGraph::kept_bytes(const RematSet& remade) const {
  const Runs found = runs(remade);
  int64_t sum = 0;
  for (size_t t = 0; t < size(); ++t)
    if (found.needed[t] && !(remade[t] && found.operations[tensors_[t].maker])) sum += tensors_[t].bytes;
  return sum;
}

RematSet RematGraph::cheapest(double price) const {
  // A tensor that is needed is on the source's side, and so is an operation that runs again. An edge that is cut is
  // paid for: from a tensor to its operation by the memory of the tensor, from an operation to the sink by its time.
  const int source = static_cast<int>(size() + operations_.size()), sink = source + 1;
  double all = 0;
  for (const Operation& operation : operations_) all += operation.seconds;
  for (const ForwardTensor& tensor : tensors_) all += price * static_cast<double>(tensor.bytes);
  const auto capacity = [&](double seconds) {
    return all > 0 ? static_cast<int64_t>(std::llround(seconds / all * kCutScale)) : 0;
  };
  const auto node_of = [&](size_t operation) { return static_cast<int>(size() + operation); };
  FlowNetwork network(sink + 1);
  for (size_t t = 0; t < size(); ++t) {
    if (tensors_[t].is_read) network.add_edge(source, static_cast<int>(t), FlowNetwork::kUnlimited);
    network.add_edge(static_cast<int>(t), node_of(tensors_[t].maker),
                     capacity(price * static_cast<double>(tensors_[t].bytes)));
  }
  for (size_t o = 0; o < operations_.size(); ++o) {
    // Each operation that runs again costs at least 1, so that of equal choices the one that remakes least is taken.
    network.add_edge(
        node_of(o), sink,
        operations_[o].can_run_again ? capacity(operations_[o].seconds) + 1 : FlowNetwork::kUnlimited);
    for (const size_t t : operations_[o].operands)
      network.add_edge(node_of(o), static_cast<int>(t), FlowNetwork::kUnlimited);
  }
  const std::vector<bool> needed = network.source_side(source, sink);
  RematSet remade = nothing();
  for (size_t t = 0; t < size(); ++t)
    remade[t] = needed[t] && needed[static_cast<size_t>(node_of(tensors_[t].maker))];
  return effective(remade);
}

// Adds the corners between two of them: the price at which both cost the same shows whether there is another.
void RematGraph::add_corners(const RematSet& first, const RematSet& last,
                             std::vector<RematSet>& found) const {
  const double saved = static_cast<double>(kept_bytes(first) - kept_bytes(last));
  const double longer = seconds(last) - seconds(first);
  if (saved <= 0 || longer <= 0) return;
  const double price = longer / saved;
  const auto cost = [&](const RematSet& remade) {
    return seconds(remade) + price * static_cast<double>(kept_bytes(remade));
  };
  RematSet between = cheapest(price);
  if (cost(between) >= cost(first) * (1 - kSmallest)) return;
  add_corners(first, between, found);
  found.push_back(between);
  add_corners(between, last, found);
}

std::vector<RematSet> RematGraph::corners() const {
  const RematSet last = cheapest(kHighPrice);
  std::vector<RematSet> found = {nothing()};
  if (last == nothing()) return found;
  add_corners(nothing(), last, found);
  found.push_back(last);
  return found;
}

std::vector<size_t> RematGraph::last_readers() const {
  std::vector<size_t> last_reader(size());
  for (size_t t = 0; t < size(); ++t) last_reader[t] = tensors_[t].maker;
  for (size_t o = 0; o < operations_.size(); ++o)
    for (const size_t t : operations_[o].operands) last_reader[t] = o;
  return last_reader;
}

std::vector<size_t> RematGraph::valleys(const std::vector<size_t>& last_reader) const {
  // The bytes that are alive after each operation.
  std::vector<int64_t> alive(operations_.size() + 1, 0);
  for (size_t t = 0; t < size(); ++t) {
    alive[tensors_[t].maker] += tensors_[t].bytes;
    alive[last_reader[t]] -= tensors_[t].bytes;
  }
  std::partial_sum(alive.begin(), alive.end(), alive.begin());
  std::vector<size_t> valleys;
  size_t extreme = 0;  // of the slope that goes on
  bool goes_down = false;
  for (size_t o = 1; o < operations_.size(); ++o) {
    if (goes_down ? alive[o] < alive[extreme] : alive[o] > alive[extreme]) {
      extreme = o;
    } else if (goes_down ? alive[o] > kSlope * alive[extreme] : kSlope * alive[o] < alive[extreme]) {
      if (goes_down) valleys.push_back(extreme);
      goes_down = !goes_down;
      extreme = o;
    }
  }
  return valleys;
}

RematSet RematGraph::all_between_valleys() const {
  const std::vector<size_t> last_reader = last_readers();
  const std::vector<size_t> narrow = valleys(last_reader);
  RematSet remade(size(), true);
  for (const size_t valley : narrow)
    for (size_t t = 0; t < size(); ++t)
      if (tensors_[t].maker <= valley && last_reader[t] > valley) remade[t] = false;
  return effective(remade);
}

RematSet RematGraph::with_end_kept(RematSet remade) const {
  const std::vector<size_t> narrow = valleys(last_readers());
  for (size_t t = 0; t < size(); ++t)
    if (!narrow.empty() && tensors_[t].maker > narrow.back()) remade[t] = false;
  return remade;
}

std::vector<RematSet> RematGraph::pieces(const RematSet& remade) const {
  const RematSet made = effective(remade);
  const Runs found = runs(made);
  std::vector<size_t> group(operations_.size());
  std::iota(group.begin(), group.end(), size_t{0});
  const auto root = [&](size_t o) {
    while (group[o] != o) o = group[o] = group[group[o]];
    return o;
  };
  for (size_t o = 0; o < operations_.size(); ++o) {
    if (!found.operations[o]) continue;
    for (const size_t t : operations_[o].operands)
      if (made[t]) {
        const size_t a = root(o), b = root(tensors_[t].maker);
        group[std::max(a, b)] = std::min(a, b);
      }
  }
  std::map<size_t, RematSet> by_root;
  for (size_t t = 0; t < size(); ++t) {
    if (!made[t]) continue;
    RematSet& piece = by_root.try_emplace(root(tensors_[t].maker), nothing()).first->second;
    piece[t] = true;
  }
  std::vector<RematSet> all;
  for (auto& [unused, piece] : by_root) all.push_back(std::move(piece));
  return all;
}

RematNames RematGraph::names(const RematSet& remade) const {
  RematNames all;
  const RematSet made = effective(remade);
  for (size_t t = 0; t < size(); ++t)
    if (made[t]) all.insert(tensors_[t].name);
  return all;
}

}  // namespace mtfc
