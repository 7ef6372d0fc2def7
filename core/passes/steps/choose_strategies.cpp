#include "core/passes/steps/choose_strategies.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/op_rules/pieces.h"
#include "core/program/reshard.h"

namespace mtfc {
namespace {

using FactorAxes = std::vector<AxisList>;  // the axes of each factor

bool uses_axis_twice(const FactorAxes& axes_by_factor) {
  AxisList all;
  for (const AxisList& axes : axes_by_factor) all.insert(all.end(), axes.begin(), axes.end());
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) != all.end();
}

void add_distinct(std::vector<AxisList>& list, const AxisList& axes) {
  if (std::find(list.begin(), list.end(), axes) == list.end()) list.push_back(axes);
}

class Chooser {
 public:
  Chooser(const Graph& graph, const Node& node, const PerTensor<Sharding>& targets, const Mesh& mesh)
      : node_(node),
        targets_(targets),
        mesh_(mesh),
        operand_types_(graph.operand_types(node)),
        result_types_(graph.result_types(node)),
        factors_(node.op->roles({node.attributes, operand_types_}, result_types_)) {}

  Strategy choose() const {
    std::vector<std::vector<AxisList>> wanted;  // per factor: the axes that its tensors have
    FactorAxes agreed;
    bool agree = true;
    for (const Factor& factor : factors_) {
      wanted.push_back(sites(factor));
      agree &= wanted.back().size() == 1;
      agreed.push_back(wanted.back()[0]);
    }
    if (agree && !uses_axis_twice(agreed) && !splits_twice(factors_, agreed)) return strategy(agreed);
    return cheapest(wanted);
  }

 private:
  const Sharding& target(TensorId id) const { return targets_[id]; }

  // The distinct axis lists that the factor's dimension has in operands and results, and those of the dimensions that
  // it reads through windows. For a moved dimension only operands count, since split_moved() splits the result's.
  std::vector<AxisList> sites(const Factor& factor) const {
    if (factor.kind == Factor::Kind::kWhole) return {{}};
    std::vector<AxisList> found;
    for (size_t i = 0; i < factor.operands.size(); ++i)
      if (factor.operands[i] >= 0) add_distinct(found, target(node_.operands[i]).dims[factor.operands[i]]);
    for (size_t i = 0; i < factor.results.size(); ++i)
      if (factor.results[i] >= 0 && factor.kind != Factor::Kind::kMoved)
        add_distinct(found, target(node_.results[i]).dims[factor.results[i]]);
    for (const OperandWindow& window : factor.windows)
      add_distinct(found, target(node_.operands[static_cast<size_t>(window.operand)]).dims[window.split.dim]);
    if (found.empty()) found.push_back({});
    return found;
  }

  Strategy strategy(const FactorAxes& axes_by_factor) const {
    Strategy chosen;
    for (const TensorType& type : operand_types_) chosen.operands.push_back(replicated(type.dims.size()));
    for (const TensorType& type : result_types_) chosen.results.push_back(replicated(type.dims.size()));
    for (size_t f = 0; f < factors_.size(); ++f) {
      const Factor& factor = factors_[f];
      split_operands(factor, axes_by_factor[f], chosen.operands);
      for (size_t i = 0; i < chosen.results.size(); ++i) {
        if (factor.results[i] >= 0 && factor.kind != Factor::Kind::kMoved)
          chosen.results[i].dims[factor.results[i]] = axes_by_factor[f];
        if (factor.kind == Factor::Kind::kReduce && factor.results[i] < 0)
          for (const int axis : axes_by_factor[f]) chosen.results[i].partial.push_back({axis, factor.reduce});
      }
    }
    for (Sharding& result : chosen.results) std::sort(result.partial.begin(), result.partial.end());
    if (const Factor* moved = moved_factor(factors_)) split_moved(*moved, chosen.results[0]);
    return chosen;
  }

  // Splits the result's moved dimension by the axes of its target, as far as no other dimension uses them.
  void split_moved(const Factor& moved, Sharding& result) const {
    const auto at = static_cast<size_t>(moved.results[0]);
    const AxisList used = split_axes(result);
    for (const int axis : target(node_.results[0]).dims[at]) {
      if (contains(used, axis)) break;
      result.dims[at].push_back(axis);
    }
  }

  // The cheapest choice of prefixes of the wanted lists that uses no axis twice.
  Strategy cheapest(const std::vector<std::vector<AxisList>>& wanted) const {
    std::vector<std::vector<AxisList>> options;
    for (const std::vector<AxisList>& lists : wanted) {
      std::vector<AxisList> option;
      for (const AxisList& list : lists)
        for (size_t length = list.size() + 1; length-- > 0;)
          add_distinct(option, AxisList(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(length)));
      options.push_back(std::move(option));
    }
    std::optional<Strategy> best;
    std::tuple<MoveCost, int64_t> best_cost;
    FactorAxes axes_by_factor(factors_.size());
    const auto visit = [&](auto&& self, size_t f) -> void {
      if (f == factors_.size()) {
        if (splits_twice(factors_, axes_by_factor)) return;
        Strategy candidate = strategy(axes_by_factor);
        const auto cost = std::make_tuple(cost_of(candidate), -parallelism(axes_by_factor));
        if (!best || cost < best_cost) {
          best = std::move(candidate);
          best_cost = cost;
        }
        return;
      }
      for (const AxisList& option : options[f]) {
        axes_by_factor[f] = option;
        if (!uses_axis_twice(FactorAxes(axes_by_factor.begin(),
                                        axes_by_factor.begin() + static_cast<std::ptrdiff_t>(f) + 1)))
          self(self, f + 1);
      }
    };
    visit(visit, 0);
    return *best;
  }

  int64_t parallelism(const FactorAxes& axes_by_factor) const {
    int64_t parts = 1;
    for (const AxisList& axes : axes_by_factor) parts *= mesh_.size(axes);
    return parts;
  }

  MoveCost cost_of(const Strategy& candidate) const {
    MoveCost cost;
    for (size_t i = 0; i < node_.operands.size(); ++i)
      cost += reshard_cost(operand_types_[i], target(node_.operands[i]), candidate.operands[i], mesh_);
    for (size_t i = 0; i < node_.results.size(); ++i)
      cost += reshard_cost(result_types_[i], candidate.results[i], target(node_.results[i]), mesh_);
    if (const Factor* moved = moved_factor(factors_))
      cost += pieces_cost({*node_.op, node_.attributes, operand_types_, result_types_[0]}, *moved,
                          candidate.operands, candidate.results[0], mesh_);
    return cost;
  }

  const Node& node_;
  const PerTensor<Sharding>& targets_;
  const Mesh& mesh_;
  std::vector<TensorType> operand_types_, result_types_;
  std::vector<Factor> factors_;
};

// A loop takes and gives tensors in their own shardings, so that its rounds fit together.
Strategy as_targeted(const Node& node, const PerTensor<Sharding>& targets) {
  Strategy strategy;
  for (const TensorId id : node.operands) strategy.operands.push_back(targets[id]);
  for (const TensorId id : node.results) strategy.results.push_back(targets[id]);
  return strategy;
}

}  // namespace

Strategy choose_strategy(const Graph& graph, const Node& node, const PerTensor<Sharding>& targets,
                         const Mesh& mesh) {
  return Chooser(graph, node, targets, mesh).choose();
}

ShardedEntry choose_strategies(ShardedEntry sharded, const Mesh& mesh) {
  const Graph& graph = sharded.entry.graph;
  const PerTensor<Sharding>& targets = sharded.shardings;
  std::vector<Strategy> strategies;
  for (const Node& node : graph.nodes()) {
    if (node.kind == NodeKind::kLoop) {
      strategies.push_back(as_targeted(node, targets));
      continue;
    }
    const bool planned = node.kind == NodeKind::kOp && node.op->family != Family::kRelabel;
    strategies.push_back(planned ? choose_strategy(graph, node, targets, mesh) : Strategy{});
  }
  sharded.strategies = std::move(strategies);
  return sharded;
}

}  // namespace mtfc
