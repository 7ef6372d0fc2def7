#include "core/passes/graph/share_common.h"

#include <map>
#include <utility>

#include "core/passes/graph/remove_dead.h"

namespace mtfc {
namespace {

// True if the result is worth keeping for a second use. The others become part of fused steps, or cost nothing.
bool is_worth_keeping(const OpDef& op) {
  switch (op.family) {
    case Family::kContraction:
    case Family::kReduction:
    case Family::kIndexing:
      return true;
    case Family::kMovement:
      return op.traits.copies != Copies::kSpread;
    case Family::kElementwise:
    case Family::kElementwiseChecked:
    case Family::kRelabel:
    case Family::kGenerator:
      return false;
  }
  return false;
}

// Numbers the values of tensors: tensors of one number hold the same elements.
class ValueNumbers {
 public:
  // The results of a node with these operands: those of an earlier node, or of a copy of this one.
  std::vector<TensorId> results(GraphBuilder& builder, const Graph& from, const Node& node,
                                const std::vector<TensorId>& operands) {
    if (node.kind != NodeKind::kOp || node.op->traits.is_drawn) {
      const std::vector<TensorId> made = builder.copy(from, node, operands);
      for (const TensorId id : made) number_[id] = next_++;
      return made;
    }
    std::vector<int> values;
    for (const TensorId id : operands) values.push_back(number_of(builder.graph(), id));
    std::vector<Known>& same_operands = known_[{node.op, std::move(values)}];
    for (const Known& known : same_operands) {
      if (known.attributes != node.attributes) continue;
      if (is_worth_keeping(*node.op)) return known.results;
      const std::vector<TensorId> made = builder.copy(from, node, operands);
      for (size_t i = 0; i < made.size(); ++i) number_[made[i]] = number_.at(known.results[i]);
      return made;
    }
    same_operands.push_back({node.attributes, builder.copy(from, node, operands)});
    for (const TensorId id : same_operands.back().results) number_[id] = next_++;
    return same_operands.back().results;
  }

 private:
  struct Known {
    Attributes attributes;
    std::vector<TensorId> results;
  };

  int number_of(const Graph& graph, TensorId id) {
    const auto at = number_.find(id);
    if (at != number_.end()) return at->second;
    // An identity that rewritten() has added for a second name.
    return number_[id] = number_of(graph, graph.producer(id).operands[0]);
  }

  std::map<TensorId, int> number_;
  std::map<std::pair<const OpDef*, std::vector<int>>, std::vector<Known>> known_;
  int next_ = 0;
};

}  // namespace

EntryGraph share_common(const EntryGraph& entry) {
  ValueNumbers numbers;
  return remove_dead(
      rewritten(entry,
                [&](GraphBuilder& builder, const Node& node,
                    const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                  return numbers.results(builder, entry.graph, node, operands);
                }));
}

}  // namespace mtfc
