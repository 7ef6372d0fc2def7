#include "core/passes/graph/order_contractions.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace mtfc {
namespace {

using Subset = uint32_t;  // a set of operands
using DimSet = uint64_t;  // a set of dimensions

// The dimensions of an einsum, numbered.
class NumberedDims {
 public:
  explicit NumberedDims(Dims dims) : dims_(std::move(dims)) {}

  size_t count() const { return dims_.size(); }
  DimSet set_of(const Dims& dims) const {
    DimSet set = 0;
    for (const Dim& dim : dims) set |= DimSet{1} << position(dims_, dim.name);
    return set;
  }
  double elements(DimSet set) const {
    double product = 1;
    for (; set != 0; set &= set - 1)
      product *= static_cast<double>(dims_[static_cast<size_t>(std::countr_zero(set))].size);
    return product;
  }

 private:
  Dims dims_;
};

// Chooses and emits the pairwise order of one einsum.
class Contraction {
 public:
  Contraction(GraphBuilder& builder, const std::vector<TensorId>& operands, const Dims& result)
      : builder_(builder), operands_(operands), result_(result) {}

  TensorId emit() {
    sum_lone_dims();
    if (operands_.size() <= 2) return einsum(operands_, result_);
    Dims all;
    for (const TensorId operand : operands_) all = unite(all, builder_.dims(operand));
    const NumberedDims numbered(all);
    return operands_.size() <= kExhaustive && all.size() <= kNumbered ? best_order(numbered) : greedy_order();
  }

 private:
  static constexpr size_t kExhaustive = 14;  // 3^14 / 2 splits; more operands are paired greedily
  static constexpr size_t kNumbered = 64;    // the most dimensions that a DimSet can hold

  TensorId einsum(const std::vector<TensorId>& operands, const Dims& dims) {
    return builder_.op("einsum", operands, {{"dims", dims}});
  }

  void sum_lone_dims() {
    if (operands_.size() < 2) return;
    for (size_t i = 0; i < operands_.size(); ++i) {
      Dims lone;
      for (const Dim& dim : builder_.dims(operands_[i])) {
        bool elsewhere = contains(result_, dim.name);
        for (size_t j = 0; j < operands_.size(); ++j)
          elsewhere |= j != i && contains(builder_.dims(operands_[j]), dim.name);
        if (!elsewhere) lone.push_back(dim);
      }
      if (!lone.empty()) operands_[i] = builder_.op("reduce_sum", {operands_[i]}, {{"over", lone}});
    }
  }

  // The dimensions of the product of `subset`: those of its operands that the result or another operand has.
  Dims kept(Subset subset) const {
    Dims inside, outside = result_;
    for (size_t i = 0; i < operands_.size(); ++i) {
      Dims& side = subset >> i & 1 ? inside : outside;
      side = unite(side, builder_.dims(operands_[i]));
    }
    return without(inside, without(inside, outside));
  }

  TensorId best_order(const NumberedDims& numbered) {
    const Subset all = (Subset{1} << operands_.size()) - 1;
    std::vector<DimSet> inside(all + 1, 0), dims(all + 1, 0);
    for (Subset subset = 1; subset <= all; ++subset)
      inside[subset] =
          inside[subset & (subset - 1)] |
          numbered.set_of(builder_.dims(operands_[static_cast<size_t>(std::countr_zero(subset))]));
    std::vector<double> cost(all + 1, 0);
    std::vector<Subset> left(all + 1, 0);
    const DimSet result = numbered.set_of(result_);
    for (Subset subset = 1; subset <= all; ++subset) {
      dims[subset] = inside[subset] & (inside[all ^ subset] | result);
      if (std::popcount(subset) < 2) continue;
      cost[subset] = std::numeric_limits<double>::infinity();
      // Parts come in falling order, so the second half would repeat the splits of the first.
      for (Subset part = (subset - 1) & subset; part > (subset ^ part); part = (part - 1) & subset) {
        const Subset rest = subset ^ part;
        const double total = cost[part] + cost[rest] + numbered.elements(dims[part] | dims[rest]);
        if (total < cost[subset]) {
          cost[subset] = total;
          left[subset] = part;
        }
      }
    }
    return build(all, left);
  }

  TensorId build(Subset subset, const std::vector<Subset>& left) {
    if (std::popcount(subset) == 1) return operands_[static_cast<size_t>(std::countr_zero(subset))];
    const TensorId a = build(left[subset], left);
    const TensorId b = build(subset ^ left[subset], left);
    const bool last = subset == (Subset{1} << operands_.size()) - 1;
    return einsum({a, b}, last ? result_ : kept(subset));
  }

  // The dimensions of the product of operands `i` and `j` that the result or another operand has.
  Dims kept(size_t i, size_t j) const {
    Dims outside = result_;
    const Dims inside = unite(builder_.dims(operands_[i]), builder_.dims(operands_[j]));
    for (size_t other = 0; other < operands_.size(); ++other)
      if (other != i && other != j) outside = unite(outside, builder_.dims(operands_[other]));
    return without(inside, without(inside, outside));
  }

  // Pairs the operands with the least growth: the size of the product less those of the operands it replaces.
  TensorId greedy_order() {
    const auto size = [](const Dims& dims) {
      double product = 1;
      for (const Dim& dim : dims) product *= static_cast<double>(dim.size);
      return product;
    };
    while (operands_.size() > 2) {
      size_t best_i = 0, best_j = 1;
      double best = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < operands_.size(); ++i)
        for (size_t j = i + 1; j < operands_.size(); ++j) {
          const double growth =
              size(kept(i, j)) - size(builder_.dims(operands_[i])) - size(builder_.dims(operands_[j]));
          if (growth < best) best = growth, best_i = i, best_j = j;
        }
      operands_[best_i] = einsum({operands_[best_i], operands_[best_j]}, kept(best_i, best_j));
      operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(best_j));
    }
    return einsum(operands_, result_);
  }

  GraphBuilder& builder_;
  std::vector<TensorId> operands_;
  Dims result_;
};

bool is_contraction(const Node& node) {
  return node.kind == NodeKind::kOp && node.op->family == Family::kContraction;
}

// True if the node is what Contraction would emit for it.
bool is_in_order(const Graph& graph, const Node& node) {
  const Dims& result = graph.type(node.results[0]).dims;
  if (node.operands.size() > 2 || node.attributes != Attributes{{"dims", result}}) return false;
  if (node.operands.size() < 2) return true;
  const auto has_lone_dim = [&](TensorId operand, TensorId other) {
    const Dims &dims = graph.type(operand).dims, &others = graph.type(other).dims;
    return std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) {
      return !contains(result, dim.name) && !contains(others, dim.name);
    });
  };
  return !has_lone_dim(node.operands[0], node.operands[1]) &&
         !has_lone_dim(node.operands[1], node.operands[0]);
}

}  // namespace

EntryGraph order_contractions(EntryGraph entry) {
  const Nodes& nodes = entry.graph.nodes();
  if (std::all_of(nodes.begin(), nodes.end(),
                  [&](const Node& node) { return !is_contraction(node) || is_in_order(entry.graph, node); }))
    return entry;
  return rewritten(std::move(entry),
                   [&](GraphBuilder& builder, const Node& node,
                       const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (!is_contraction(node)) return std::nullopt;
                     return {{Contraction(builder, operands, entry.graph.type(node.results[0]).dims).emit()}};
                   });
}

}  // namespace mtfc
