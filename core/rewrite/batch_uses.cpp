#include "core/rewrite/batch_uses.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "core/graph/custom_gradient.h"

namespace mtfc {
namespace {

constexpr int kAbsent = -1;

// True if a tensor has two dimensions of rows. A part of it has no rows of its own.
bool has_rows_twice(const Dims& dims, const std::vector<Dim>& row_dims) {
  return std::count_if(dims.begin(), dims.end(),
                       [&](const Dim& dim) { return contains(row_dims, dim.name); }) > 1;
}

class Classifier {
 public:
  /// `row_dims` and `units` are those that are known so far.
  Classifier(const Graph& graph, std::vector<Dim> row_dims, int64_t units, int64_t microbatches)
      : graph_(graph), microbatches_(microbatches) {
    uses_.row_dims = std::move(row_dims);
    uses_.units = units;
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
    if (has_rows_twice(graph_.type(id).dims, uses_.row_dims)) return BatchUse::kWhole;
    return has_batch(id) ? BatchUse::kRows : BatchUse::kNone;
  }
  bool is_row_dim(std::string_view name) const { return contains(uses_.row_dims, name); }
  bool has_batch(TensorId id) const { return row_position(graph_.type(id).dims, uses_.row_dims) >= 0; }
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

  // True if the backward part gives gradients of rows row by row, and those of what has none as sums over rows, so that
  // it does the same for a part of the batch.
  bool goes_back_by_rows(const Node& node) const {
    const auto [results, targets] = custom_gradient_counts(node);
    const LoopPart& backward = *node.backward;
    Classifier part(backward.graph, uses_.row_dims, uses_.units, microbatches_);
    std::vector<TensorId> given = node.operands;
    given.insert(given.end(), node.operands.begin(), node.operands.begin() + static_cast<ptrdiff_t>(results));
    for (size_t i = 0; i < given.size(); ++i)
      if (const TensorId leaf = backward.graph.find(leaf_name(i)); leaf != kNoTensor)
        part.set_leaf(leaf, use(given[i]));
    const BatchUses found = part.run({});
    if (found.row_dims.size() != uses_.row_dims.size()) return false;
    for (const Node& inner : backward.graph.nodes())
      if (is_drawn(inner) || inner.kind == NodeKind::kLoop || inner.backward) return false;
    for (const TensorId id : found.reduced.ids())
      if (found.reduced[id] && !found.adds[id]) return false;
    for (size_t i = 0; i < targets; ++i) {
      const BatchUse wanted = use(node.operands[results + i]), made = found.use[backward.results[i]];
      if (made != (wanted == BatchUse::kNone ? BatchUse::kMean : wanted)) return false;
    }
    return true;
  }

  // A composite with anything but rows or nothing of the batch is not looked into further.
  void classify_parts(const Node& node) {
    if (node.backward && !goes_back_by_rows(node)) {
      for (const TensorId id : node.results) set_leaf(id, BatchUse::kWhole);
      return;
    }
    GraphBuilder b;
    Node inner = node;
    inner.operands.clear();
    for (size_t i = 0; i < node.operands.size(); ++i)
      inner.operands.push_back(b.add_input(leaf_name(i), graph_.type(node.operands[i])));
    const std::vector<TensorId> leaves = inner.operands;
    const std::vector<TensorId> results = node.composite->expand(b, inner);
    Classifier parts(b.graph(), uses_.row_dims, uses_.units, microbatches_);
    for (size_t i = 0; i < leaves.size(); ++i) parts.set_leaf(leaves[i], use(node.operands[i]));
    const BatchUses found = parts.run({});
    for (size_t i = 0; i < results.size(); ++i) {
      const BatchUse use = found.use[results[i]];
      set_leaf(node.results[i], use == BatchUse::kRows || use == BatchUse::kNone ? use : BatchUse::kWhole);
    }
  }

  // Rows stay rows where as many elements come before their dimension as did, so that each unit keeps its elements.
  BatchUse relabelled(const Node& node) {
    const TensorId in = node.operands[0], out = node.results[0];
    if (use(in) != BatchUse::kRows) return has_batch(out) ? BatchUse::kWhole : use(in);
    const Dims &from = graph_.type(in).dims, &to = graph_.type(out).dims;
    const auto before = [](const Dims& dims, int at) {
      return elements(Dims(dims.begin(), dims.begin() + at));
    };
    const int64_t first = before(from, row_position(from, uses_.row_dims));
    const int known = row_position(to, uses_.row_dims);
    if (known >= 0) return before(to, known) == first ? BatchUse::kRows : BatchUse::kWhole;
    for (int at = static_cast<int>(to.size()) - 1; at >= 0; --at)
      if (before(to, at) == first) return add_row_dim(out, to[static_cast<size_t>(at)]);
    return BatchUse::kWhole;
  }

  BatchUse add_row_dim(TensorId result, const Dim& dim) {
    const int64_t units = std::gcd(uses_.units, dim.size);
    if (units % microbatches_ != 0) {
      uses_.cut_reshapes.push_back({result, dim});
      return BatchUse::kWhole;
    }
    uses_.units = units;
    uses_.row_dims.push_back(dim);
    return BatchUse::kRows;
  }

  BatchUse of_op(const Node& node) {
    // range, one_hot, gather: the numbers of rows are not what they are in a part.
    for (const auto& [name, value] : node.attributes.entries())
      if (const Dim* dim = std::get_if<Dim>(&value); dim && is_row_dim(dim->name)) return BatchUse::kWhole;
    const std::vector<TensorType> operands = graph_.operand_types(node), results = graph_.result_types(node);
    const Factor* of_rows = nullptr;
    const std::vector<Factor> factors = node.op->roles({node.attributes, operands}, results);
    for (const Factor& factor : factors) {
      if (!is_of_rows(factor, operands, results)) continue;
      if (of_rows) return BatchUse::kWhole;  // rows of two kinds, each with every one of the other
      of_rows = &factor;
    }
    return of_rows ? with_rows(node, *of_rows, results[0].dtype) : combined(node);
  }

  bool is_of_rows(const Factor& factor, const std::vector<TensorType>& operands,
                  const std::vector<TensorType>& results) const {
    const auto names_rows = [&](const std::vector<int>& at, const std::vector<TensorType>& types) {
      for (size_t i = 0; i < at.size(); ++i)
        if (at[i] != kAbsent && is_row_dim(types[i].dims[static_cast<size_t>(at[i])].name)) return true;
      return false;
    };
    return names_rows(factor.operands, operands) || names_rows(factor.results, results);
  }

  BatchUse with_rows(const Node& node, const Factor& factor, DType dtype) {
    for (const TensorId id : node.operands)
      if (use(id) != (has_batch(id) ? BatchUse::kRows : BatchUse::kNone)) return BatchUse::kWhole;
    if (factor.kind == Factor::Kind::kPass) {
      const bool everywhere =
          std::all_of(node.results.begin(), node.results.end(), [&](TensorId id) { return has_batch(id); });
      return everywhere ? BatchUse::kRows : BatchUse::kWhole;
    }
    const bool nowhere =
        std::all_of(factor.results.begin(), factor.results.end(), [](int at) { return at < 0; });
    if (factor.kind != Factor::Kind::kReduce || factor.reduce != ReduceKind::kSum || !nowhere)
      return BatchUse::kWhole;
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
    for (const std::vector<int>& set : linear_sets(graph_, node)) {
      const auto in_set = [&](int i) { return std::find(set.begin(), set.end(), i) != set.end(); };
      if (std::all_of(taken.begin(), taken.end(), in_set) && (!is_sum || taken.size() == set.size()))
        return is_sum ? BatchUse::kSum : BatchUse::kMean;
    }
    return BatchUse::kWhole;
  }

  const Graph& graph_;
  int64_t microbatches_;
  BatchUses uses_;
  bool node_learned_ = false;  // of the node that is looked at
};

}  // namespace

int row_position(const Dims& dims, const std::vector<Dim>& row_dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (contains(row_dims, dims[i].name)) return static_cast<int>(i);
  return kAbsent;
}

// Every dimension of rows that a reshape makes may decide on tensors before it, so they are looked at once more.
BatchUses batch_uses(const Graph& graph, const Dim& batch, const std::vector<std::string>& trained,
                     int64_t microbatches) {
  std::vector<Dim> row_dims = {batch};
  int64_t units = batch.size;
  while (true) {
    Classifier classifier(graph, row_dims, units, microbatches);
    for (const Node& node : graph.nodes()) {
      if (!is_leaf(node) || row_position(graph.type(node.results[0]).dims, row_dims) < 0) continue;
      const Dims& dims = graph.type(node.results[0]).dims;
      const bool has_rows =
          node.kind == NodeKind::kInput && contains(dims, batch.name) && !has_rows_twice(dims, row_dims);
      classifier.set_leaf(node.results[0], has_rows ? BatchUse::kRows : BatchUse::kWhole);
    }
    BatchUses found = classifier.run(trained);
    if (found.row_dims.size() == row_dims.size()) return found;
    row_dims = found.row_dims;
    units = found.units;
  }
}

}  // namespace mtfc
