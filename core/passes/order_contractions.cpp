#include "core/passes/order_contractions.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace mtfc {
namespace {

using Subset = uint32_t;

// Chooses and emits the pairwise order of one einsum.
class Contraction {
 public:
  Contraction(GraphBuilder& builder, const std::vector<TensorId>& operands, const Dims& result)
      : builder_(builder), operands_(operands), result_(result) {}

  TensorId emit() {
    sum_lone_dims();
    if (operands_.size() <= 2) return einsum(operands_, result_);
    return operands_.size() <= kExhaustive ? best_order() : greedy_order();
  }

 private:
  static constexpr size_t kExhaustive = 10;  // 3^10 splits; more operands are paired greedily

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

  // Dimensions of the product of `subset`: those of its operands that the result or another operand has.
  Dims kept(Subset subset) const {
    Dims inside, outside = result_;
    for (size_t i = 0; i < operands_.size(); ++i) {
      Dims& side = subset >> i & 1 ? inside : outside;
      side = unite(side, builder_.dims(operands_[i]));
    }
    return without(inside, without(inside, outside));
  }

  TensorId best_order() {
    const Subset all = (Subset{1} << operands_.size()) - 1;
    std::vector<Dims> dims(all + 1);
    std::vector<double> cost(all + 1, 0);
    std::vector<Subset> left(all + 1, 0);
    for (Subset subset = 1; subset <= all; ++subset) {
      dims[subset] = kept(subset);
      if (std::popcount(subset) < 2) continue;
      cost[subset] = std::numeric_limits<double>::infinity();
      for (Subset part = (subset - 1) & subset; part > 0; part = (part - 1) & subset) {
        const Subset rest = subset ^ part;
        if (part < rest) continue;  // each split once
        double work = 1;
        for (const Dim& dim : unite(dims[part], dims[rest])) work *= static_cast<double>(dim.size);
        const double total = cost[part] + cost[rest] + work;
        if (total < cost[subset]) {
          cost[subset] = total;
          left[subset] = part;
        }
      }
    }
    return build(all, left, dims);
  }

  TensorId build(Subset subset, const std::vector<Subset>& left, const std::vector<Dims>& dims) {
    if (std::popcount(subset) == 1) return operands_[static_cast<size_t>(std::countr_zero(subset))];
    const TensorId a = build(left[subset], left, dims);
    const TensorId b = build(subset ^ left[subset], left, dims);
    const bool last = subset == (Subset{1} << operands_.size()) - 1;
    return einsum({a, b}, last ? result_ : dims[subset]);
  }

  TensorId greedy_order() {
    while (operands_.size() > 2) {
      size_t best_i = 0, best_j = 1;
      double best = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < operands_.size(); ++i)
        for (size_t j = i + 1; j < operands_.size(); ++j) {
          double work = 1;
          for (const Dim& dim : unite(builder_.dims(operands_[i]), builder_.dims(operands_[j])))
            work *= static_cast<double>(dim.size);
          if (work < best) best = work, best_i = i, best_j = j;
        }
      Dims outside = result_,
           inside = unite(builder_.dims(operands_[best_i]), builder_.dims(operands_[best_j]));
      for (size_t i = 0; i < operands_.size(); ++i)
        if (i != best_i && i != best_j) outside = unite(outside, builder_.dims(operands_[i]));
      operands_[best_i] =
          einsum({operands_[best_i], operands_[best_j]}, without(inside, without(inside, outside)));
      operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(best_j));
    }
    return einsum(operands_, result_);
  }

  GraphBuilder& builder_;
  std::vector<TensorId> operands_;
  Dims result_;
};

}  // namespace

EntryGraph order_contractions(const EntryGraph& entry) {
  return rewritten(entry,
                   [&](GraphBuilder& builder, const Node& node,
                       const std::vector<TensorId>& operands) -> std::optional<std::vector<TensorId>> {
                     if (node.kind != NodeKind::kOp || node.op->family != Family::kContraction)
                       return std::nullopt;
                     return {{Contraction(builder, operands, entry.graph.type(node.results[0]).dims).emit()}};
                   });
}

}  // namespace mtfc
