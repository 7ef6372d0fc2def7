#include "core/rewrite/share_common.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/rewrite/remove_dead.h"

namespace mtfc {
namespace {

// True if the result is worth keeping for a second use. The others become part of fused steps, or cost nothing.
bool is_worth_keeping(const OpDef& op) {
  switch (op.family) {
    case Family::kContraction:
    case Family::kAttention:
    case Family::kConvolution:
    case Family::kPooling:
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

// Value numbering: tensors of one number hold the same elements.
class ValueNumbers {
 public:
  explicit ValueNumbers(const Graph& graph) : graph_(graph), numbers_(graph.tensors().size(), 0) {}

  // The first node that computes the same as this one: an earlier node, or `n` itself. Nodes are asked for in order.
  size_t first_equal(size_t n) {
    const Node& node = graph_.nodes()[n];
    if (node.kind != NodeKind::kOp || node.op->traits.is_drawn) {
      number_results(node);
      return n;
    }
    const size_t hash = hash_of(node);
    const auto [begin, end] = known_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      const Node& first = graph_.nodes()[known->second];
      if (!is_equal(first, node)) continue;
      for (size_t i = 0; i < node.results.size(); ++i) numbers_[node.results[i]] = numbers_[first.results[i]];
      return known->second;
    }
    known_.emplace(hash, n);
    number_results(node);
    return n;
  }

 private:
  size_t hash_of(const Node& node) const {
    size_t hash = std::hash<const OpDef*>()(node.op);
    const auto add = [&](size_t part) { hash = hash * 0x9e3779b97f4a7c15 + part; };
    for (const TensorId id : node.operands) add(static_cast<size_t>(numbers_[id]));
    // Without their numbers, all constants would have the same hash.
    for (const auto& [name, value] : node.attributes.entries()) {
      if (const auto* number = std::get_if<double>(&value)) add(std::hash<double>()(*number));
      if (const auto* number = std::get_if<int64_t>(&value)) add(static_cast<size_t>(*number));
    }
    return hash;
  }
  bool is_equal(const Node& a, const Node& b) const {
    return a.op == b.op && a.attributes == b.attributes &&
           std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                      [&](TensorId in_a, TensorId in_b) { return numbers_[in_a] == numbers_[in_b]; });
  }
  void number_results(const Node& node) {
    for (const TensorId id : node.results) numbers_[id] = next_++;
  }

  const Graph& graph_;
  PerTensor<int> numbers_;
  std::unordered_multimap<size_t, size_t> known_;  // the first node of each value, by hash_of()
  int next_ = 0;
};

// For each node that need not run, the earlier one whose results replace its own.
std::map<size_t, size_t> replacements(const Graph& graph) {
  ValueNumbers numbers(graph);
  std::map<size_t, size_t> replacements;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const size_t first = numbers.first_equal(n);
    if (first != n && is_worth_keeping(*graph.nodes()[n].op)) replacements[n] = first;
  }
  return replacements;
}

}  // namespace

EntryGraph share_common(EntryGraph entry) {
  const std::map<size_t, size_t> replaced = replacements(entry.graph);
  if (replaced.empty()) return entry;
  // For each node that replaces others: its results in the new graph.
  std::map<size_t, std::vector<TensorId>> kept;
  for (const auto& [node, first] : replaced) kept[first];
  size_t n = 0;
  const auto replace = [&](GraphBuilder& builder, const Node& node, const TensorIds& operands) -> Replaced {
    const size_t at = n++;
    if (const auto found = replaced.find(at); found != replaced.end()) return kept.at(found->second);
    const auto results = kept.find(at);
    if (results == kept.end()) return std::nullopt;
    return results->second = builder.copy(entry.graph, node, operands);
  };
  return remove_dead(rewritten(std::move(entry), replace));
}

}  // namespace mtfc
