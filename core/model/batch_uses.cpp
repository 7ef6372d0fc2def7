#include "core/model/batch_uses.h"

#include <algorithm>
#include <variant>

namespace mtfc {
namespace {

constexpr int kAbsent = -1;

class Classifier {
 public:
  Classifier(const Graph& graph, const Dim& batch) : graph_(graph), batch_(batch) {
    const size_t tensors = graph.tensors().size();
    uses_.use.assign(tensors, BatchUse::kNone);
    uses_.reduced.assign(tensors, false);
    uses_.adds.assign(tensors, false);
    uses_.learned.assign(tensors, false);
  }

  void set_leaf(TensorId id, BatchUse use) { uses_.use[id] = use; }

  BatchUses run(const std::vector<std::string>& trained) {
    for (const Node& node : graph_.nodes()) {
      bool learned = is_drawn(node) || is_trained(node, trained);
      for (const TensorId id : node.operands) learned = learned || uses_.learned[id];
      for (const TensorId id : node.results) uses_.learned[id] = learned;
      node_learned_ = learned;
      if (!is_leaf(node)) classify(node);
    }
    return std::move(uses_);
  }

 private:
  static bool is_leaf(const Node& node) {
    return node.kind == NodeKind::kInput || node.kind == NodeKind::kVariable;
  }

  // Random numbers depend on nothing but may not be drawn twice.
  static bool is_drawn(const Node& node) {
    return node.kind == NodeKind::kOp && node.op->family == Family::kGenerator &&
           node.op->signature.max_operands > 0;
  }

  bool is_trained(const Node& node, const std::vector<std::string>& trained) const {
    return node.kind == NodeKind::kVariable &&
           std::find(trained.begin(), trained.end(), graph_.tensor(node.results[0]).name) != trained.end();
  }

  // As an operand: what is data can be there, computed from the whole batch, before its parts are looked at.
  BatchUse use(TensorId id) const {
    const BatchUse own = uses_.use[id];
    const bool at_hand = node_learned_ && !uses_.learned[id];
    if (!at_hand || own == BatchUse::kRows) return own;
    return has_batch(id) ? BatchUse::kRows : BatchUse::kNone;
  }
  bool has_batch(TensorId id) const { return position(graph_.type(id).dims, batch_.name) >= 0; }
  bool all_operands(const Node& node, BatchUse wanted) const {
    return std::all_of(node.operands.begin(), node.operands.end(),
                       [&](TensorId id) { return use(id) == wanted; });
  }

  void classify(const Node& node) {
    const bool makes_batch =
        std::any_of(node.results.begin(), node.results.end(), [&](TensorId id) { return has_batch(id); });
    if (!makes_batch && all_operands(node, BatchUse::kNone)) return;
    if (node.kind == NodeKind::kComposite) {
      classify_parts(node);
      return;
    }
    BatchUse found = BatchUse::kWhole;
    if (node.kind == NodeKind::kOp)
      found = node.op->family == Family::kRelabel ? relabelled(node) : of_op(node);
    for (const TensorId id : node.results) set_leaf(id, found);
  }

  // A composite with anything but rows or nothing of the batch is not looked into further.
  void classify_parts(const Node& node) {
    GraphBuilder b;
    Node inner = node;
    inner.operands.clear();
    for (size_t i = 0; i < node.operands.size(); ++i)
      inner.operands.push_back(b.add_input(leaf_name(i), graph_.type(node.operands[i])));
    const std::vector<TensorId> leaves = inner.operands;
    const std::vector<TensorId> results = node.composite->expand(b, inner);
    Classifier parts(b.graph(), batch_);
    for (size_t i = 0; i < leaves.size(); ++i) parts.set_leaf(leaves[i], use(node.operands[i]));
    const BatchUses found = parts.run({});
    for (size_t i = 0; i < results.size(); ++i) {
      const BatchUse use = found.use[results[i]];
      set_leaf(node.results[i], use == BatchUse::kRows || use == BatchUse::kNone ? use : BatchUse::kWhole);
    }
  }

  // Rows stay rows where as many elements come before the batch dimension as did, in steps as large.
  BatchUse relabelled(const Node& node) const {
    const TensorId in = node.operands[0], out = node.results[0];
    if (use(in) != BatchUse::kRows) return has_batch(out) ? BatchUse::kWhole : use(in);
    if (!has_batch(out)) return BatchUse::kWhole;
    const auto before = [&](TensorId id) {
      const Dims& dims = graph_.type(id).dims;
      return elements(Dims(dims.begin(), dims.begin() + position(dims, batch_.name)));
    };
    const Dims& made = graph_.type(out).dims;
    const bool same_size = made[position(made, batch_.name)].size == batch_.size;
    return same_size && before(in) == before(out) ? BatchUse::kRows : BatchUse::kWhole;
  }

  BatchUse of_op(const Node& node) {
    // range, one_hot, gather: the numbers of rows are not what they are in a part.
    for (const auto& [name, value] : node.attributes.entries())
      if (const Dim* dim = std::get_if<Dim>(&value); dim && dim->name == batch_.name) return BatchUse::kWhole;
    const std::vector<TensorType> operands = graph_.operand_types(node), results = graph_.result_types(node);
    const std::vector<Factor> factors = node.op->roles({node.attributes, operands}, results);
    for (const Factor& factor : factors)
      if (is_batch(factor, operands, results)) return with_rows(node, factor, results[0].dtype);
    return combined(node);
  }

  bool is_batch(const Factor& factor, const std::vector<TensorType>& operands,
                const std::vector<TensorType>& results) const {
    const auto names_it = [&](const std::vector<int>& at, const std::vector<TensorType>& types) {
      for (size_t i = 0; i < at.size(); ++i)
        if (at[i] != kAbsent && types[i].dims[at[i]].name == batch_.name) return true;
      return false;
    };
    return names_it(factor.operands, operands) || names_it(factor.results, results);
  }

  BatchUse with_rows(const Node& node, const Factor& factor, DType dtype) {
    for (const TensorId id : node.operands)
      if (use(id) != (has_batch(id) ? BatchUse::kRows : BatchUse::kNone)) return BatchUse::kWhole;
    if (factor.kind == Factor::Kind::kPass) {
      const bool everywhere =
          std::all_of(node.results.begin(), node.results.end(), [&](TensorId id) { return has_batch(id); });
      return everywhere ? BatchUse::kRows : BatchUse::kWhole;
    }
    if (factor.kind != Factor::Kind::kReduce || factor.reduce != ReduceKind::kSum) return BatchUse::kWhole;
    for (const TensorId id : node.results) uses_.reduced[id] = true;
    if (!is_float(dtype)) return is_integer(dtype) ? BatchUse::kSum : BatchUse::kWhole;
    for (const TensorId id : node.results) uses_.adds[id] = !node.op->traits.averages;
    return BatchUse::kMean;
  }

  // A term that is linear in means is a mean, and a constant added to it does no harm; nothing may be added to sums.
  BatchUse combined(const Node& node) const {
    std::vector<int> means, sums;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const BatchUse found = use(node.operands[i]);
      if (found == BatchUse::kMean) means.push_back(static_cast<int>(i));
      if (found == BatchUse::kSum) sums.push_back(static_cast<int>(i));
      if (found == BatchUse::kRows || found == BatchUse::kWhole) return BatchUse::kWhole;
    }
    const bool is_sum = !sums.empty();
    // The fill around moved elements would be added once for each microbatch.
    const bool fills = node.op->family == Family::kMovement;
    const bool is_whole_number = is_integer(graph_.type(node.results[0]).dtype);
    if (is_sum && (fills || !means.empty() || !is_whole_number)) return BatchUse::kWhole;
    if (!is_sum && !is_float(graph_.type(node.results[0]).dtype)) return BatchUse::kWhole;
    const std::vector<int>& taken = is_sum ? sums : means;
    for (const std::vector<int>& set : linear_sets(*node.op, node.operands.size())) {
      const auto in_set = [&](int i) { return std::find(set.begin(), set.end(), i) != set.end(); };
      if (std::all_of(taken.begin(), taken.end(), in_set) && (!is_sum || taken.size() == set.size()))
        return is_sum ? BatchUse::kSum : BatchUse::kMean;
    }
    return BatchUse::kWhole;
  }

  const Graph& graph_;
  const Dim& batch_;
  BatchUses uses_;
  bool node_learned_ = false;  // of the node that is looked at
};

}  // namespace

BatchUses batch_uses(const Graph& graph, const Dim& batch, const std::vector<std::string>& trained) {
  Classifier classifier(graph, batch);
  for (const Node& node : graph.nodes()) {
    const bool is_leaf = node.kind == NodeKind::kInput || node.kind == NodeKind::kVariable;
    if (!is_leaf || position(graph.type(node.results[0]).dims, batch.name) < 0) continue;
    classifier.set_leaf(node.results[0], node.kind == NodeKind::kInput ? BatchUse::kRows : BatchUse::kWhole);
  }
  return classifier.run(trained);
}

}  // namespace mtfc
