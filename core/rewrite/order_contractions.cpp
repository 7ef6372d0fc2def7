#include "core/rewrite/order_contractions.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

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

// How much each pair of operands grows if it is multiplied: the size of the product less those of the operands. A pair
// is measured anew only if it changes, so that hundreds of operands are paired quickly.
class Growths {
 public:
  Growths(const std::vector<Dims>& operands, const Dims& result) {
    for (const Dims& dims : operands) all_ = unite(all_, dims);
    users_.resize(all_.size());
    for (const Dim& dim : result) ++users_[static_cast<size_t>(position(all_, dim.name))];
    for (const Dims& dims : operands) {
      operands_.push_back({{}, std::vector<bool>(all_.size())});
      for (const Dim& dim : dims) operands_.back().add(static_cast<size_t>(position(all_, dim.name)));
      for (const size_t dim : operands_.back().dims) ++users_[dim];
    }
    growths_.assign(operands_.size(), std::vector<double>(operands_.size()));
    for (size_t j = 0; j < operands_.size(); ++j) measure(j);
  }

  // The first pair with the least growth; the first operand of a pair is the one that comes first.
  std::pair<size_t, size_t> least() const {
    std::pair<size_t, size_t> best{0, 1};
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < growths_.size(); ++i)
      for (size_t j = i + 1; j < growths_.size(); ++j)
        if (growths_[i][j] < least) least = growths_[i][j], best = {i, j};
    return best;
  }

  // The dimensions of the product of operands `i` and `j` that the result or another operand has.
  Dims kept(size_t i, size_t j) const {
    Dims dims;
    visit_kept(i, j, [&](size_t dim) { dims.push_back(all_[dim]); });
    return dims;
  }

  // Replaces operand `i` by the product, and removes operand `j`.
  void join(size_t i, size_t j) {
    Operand product{{}, std::vector<bool>(all_.size())};
    visit_kept(i, j, [&](size_t dim) { product.add(dim); });
    std::vector<size_t> rarer;  // dimensions of which another pair may be the last users
    for (size_t dim = 0; dim < all_.size(); ++dim) {
      const int fewer = operands_[i].has[dim] + operands_[j].has[dim] - product.has[dim];
      users_[dim] -= fewer;
      if (fewer > 0 && users_[dim] == 2) rarer.push_back(dim);
    }
    operands_[i] = std::move(product);
    const auto at = static_cast<std::ptrdiff_t>(j);
    operands_.erase(operands_.begin() + at);
    growths_.erase(growths_.begin() + at);
    for (std::vector<double>& row : growths_) row.erase(row.begin() + at);
    for (size_t k = 0; k < operands_.size(); ++k)
      if (k == i ||
          std::any_of(rarer.begin(), rarer.end(), [&](size_t dim) { return operands_[k].has[dim]; }))
        measure(k);
  }

 private:
  struct Operand {
    std::vector<size_t> dims;  // positions in all_
    std::vector<bool> has;     // for each of all_
    void add(size_t dim) {
      dims.push_back(dim);
      has[dim] = true;
    }
  };

  template <typename Visit>
  void visit_kept(size_t i, size_t j, Visit visit) const {
    const Operand &one = operands_[i], &other = operands_[j];
    for (const size_t dim : one.dims)
      if (users_[dim] > 1 + other.has[dim]) visit(dim);
    for (const size_t dim : other.dims)
      if (!one.has[dim] && users_[dim] > 1) visit(dim);
  }

  double size(const Operand& operand) const {
    double product = 1;
    for (const size_t dim : operand.dims) product *= static_cast<double>(all_[dim].size);
    return product;
  }

  // Measures the pairs of operand `k`.
  void measure(size_t k) {
    for (size_t other = 0; other < operands_.size(); ++other) {
      if (other == k) continue;
      const size_t i = std::min(k, other), j = std::max(k, other);
      double product = 1;
      visit_kept(i, j, [&](size_t dim) { product *= static_cast<double>(all_[dim].size); });
      growths_[i][j] = product - size(operands_[i]) - size(operands_[j]);
    }
  }

  Dims all_;
  std::vector<int> users_;  // of each dimension: operands, and the result
  std::vector<Operand> operands_;
  std::vector<std::vector<double>> growths_;  // [i][j] with i < j
};

// The attributes of the einsum that makes `result` of these operands.
Attributes attributes_of(const Graph& graph, const TensorType& result,
                         const std::vector<TensorId>& operands) {
  Attributes attributes{{"dims", result.dims}};
  if (std::any_of(operands.begin(), operands.end(),
                  [&](TensorId operand) { return graph.type(operand).dtype != result.dtype; }))
    attributes.set("dtype", result.dtype);
  return attributes;
}

// Chooses and emits the pairwise order of one einsum.
class Contraction {
 public:
  Contraction(GraphBuilder& builder, const std::vector<TensorId>& operands, const TensorType& result)
      : builder_(builder), operands_(operands), result_(result.dims), dtype_(result.dtype) {}

  TensorId emit() {
    sum_lone_dims();
    if (operands_.size() <= 2) return last_einsum(operands_);
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

  // The einsum that makes the result. Those before it have the dtype of the operands.
  TensorId last_einsum(const std::vector<TensorId>& operands) {
    return builder_.op("einsum", operands, attributes_of(builder_.graph(), {dtype_, result_}, operands));
  }

  void sum_lone_dims() {
    if (operands_.size() < 2) return;
    std::unordered_map<std::string, int> users;
    for (const Dim& dim : result_) ++users[dim.name];
    for (const TensorId operand : operands_)
      for (const Dim& dim : builder_.dims(operand)) ++users[dim.name];
    for (TensorId& operand : operands_) {
      Dims lone;
      for (const Dim& dim : builder_.dims(operand))
        if (users[dim.name] == 1) lone.push_back(dim);
      if (!lone.empty()) operand = builder_.op("reduce_sum", {operand}, {{"over", lone}});
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
    return last ? last_einsum({a, b}) : einsum({a, b}, kept(subset));
  }

  // Pairs the operands with the least growth: the size of the product less those of the operands it replaces.
  TensorId greedy_order() {
    std::vector<Dims> dims;
    for (const TensorId operand : operands_) dims.push_back(builder_.dims(operand));
    Growths growths(dims, result_);
    while (operands_.size() > 2) {
      const auto [i, j] = growths.least();
      operands_[i] = einsum({operands_[i], operands_[j]}, growths.kept(i, j));
      operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(j));
      growths.join(i, j);
    }
    return last_einsum(operands_);
  }

  GraphBuilder& builder_;
  std::vector<TensorId> operands_;
  Dims result_;
  DType dtype_;
};

bool is_contraction(const Node& node) {
  return node.kind == NodeKind::kOp && node.op->family == Family::kContraction;
}

// True if the node is what Contraction would emit for it.
bool is_in_order(const Graph& graph, const Node& node) {
  const Dims& result = graph.type(node.results[0]).dims;
  if (node.operands.size() > 2 ||
      node.attributes != attributes_of(graph, graph.type(node.results[0]), node.operands))
    return false;
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
  const auto replace = [&](GraphBuilder& builder, const Node& node, const TensorIds& operands) -> Replaced {
    if (!is_contraction(node)) return std::nullopt;
    return {{Contraction(builder, operands, entry.graph.type(node.results[0])).emit()}};
  };
  return rewritten(std::move(entry), replace);
}

}  // namespace mtfc
