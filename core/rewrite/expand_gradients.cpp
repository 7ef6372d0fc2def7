#include "core/rewrite/expand_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/graph/expand_composites.h"
#include "core/op_rules/unrounded.h"

namespace mtfc {
namespace {

// Sums of so many terms are made in their own dtype: what rounding loses is of the order of what each term has lost.
constexpr size_t kFewTerms = 4;

// Reverse-mode differentiation of one scalar over the graph that `builder` holds so far.
class Differentiation {
 public:
  // `most`: the nodes that the graph may have in the end. `copies`: the copies of gradients that were made to annotate
  // them, and what they are copies of; those that this differentiation makes are added.
  Differentiation(GraphBuilder& builder, TensorId of, const std::vector<TensorId>& in, size_t most,
                  std::map<TensorId, TensorId>& copies)
      : builder_(builder),
        of_(of),
        in_(in),
        most_(most),
        copies_(copies),
        contributions_(builder.graph().tensors().size()) {
    find_rounded();
  }

  // `annotations`: of the gradients, or nullptr.

  std::vector<TensorId> run(const std::vector<SharedAnnotation>& annotations) {
    const SharedOrigin origin = builder_.origin();
    find_path();
    set_origin(*origin, builder_.graph().producer(of_));
    contributions_[of_] = {builder_.constant(1.0, builder_.type(of_).dtype)};
    for (size_t n = path_.size(); n-- > 0;)
      if (path_[n]) {
        differentiate(n, *origin);
        require_room(*origin);
      }
    std::vector<TensorId> gradients;
    for (size_t i = 0; i < in_.size(); ++i) {
      set_origin(*origin, builder_.graph().producer(in_[i]));
      gradients.push_back(gradient_or_zeros(in_[i], annotations[i]));
    }
    return gradients;
  }

 private:
  void require_room(const Origin& origin) const {
    if (builder_.graph().nodes().size() <= most_) return;
    throw UserError(
        fmt::format("the gradients, with those that they are derived from, make more than {} operations",
                    most_),
        "gradients of gradients multiply the operations: take fewer of them, or of fewer operations",
        origin.location);
  }

  // Finds the nodes that depend on one of the tensors of `in_`.
  void find_path() {
    const Graph& graph = builder_.graph();
    PerTensor<bool> depends(graph.tensors().size(), false);
    for (const TensorId id : in_) depends[id] = true;
    path_.assign(graph.nodes().size(), false);
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      path_[n] =
          std::any_of(node.operands.begin(), node.operands.end(), [&](TensorId id) { return depends[id]; });
      if (path_[n])
        for (const TensorId id : node.results) depends[id] = true;
    }
    depends_ = std::move(depends);
  }

  // Finds the tensors that are only read to be rounded to bf16, once.
  void find_rounded() {
    const Graph& graph = builder_.graph();
    rounded_ = PerTensor<TensorId>(graph.tensors().size(), kNoTensor);
    PerTensor<bool> is_read(graph.tensors().size(), false);
    for (const Node& node : graph.nodes())
      for (const TensorId id : node.operands) {
        const bool rounds = node.kind == NodeKind::kOp && node.op->traits.converts &&
                            graph.type(node.results[0]).dtype == DType::kBF16 &&
                            graph.type(id).dtype == DType::kF32;
        rounded_[id] = rounds && !is_read[id] ? node.results[0] : kNoTensor;
        is_read[id] = true;
      }
  }

  // The node as its own gradient sees it, which reads the rounded results so that they alone are kept. It only
  // multiplies by them, so its error is of the order of that of rounding.
  std::optional<Node> with_rounded_results(const Node& node) {
    if (node.kind != NodeKind::kComposite || !node.composite->in_f32) return std::nullopt;
    if (node.composite->gradient == kGradientOfParts) return std::nullopt;
    Node kept = node;
    for (TensorId& id : kept.results)
      if (rounded_[id] != kNoTensor) id = builder_.cast(rounded_[id], builder_.type(id).dtype);
    return kept;
  }

  void differentiate(size_t n, const Origin& origin) {
    const Node& node = builder_.graph().nodes()[n];  // stays where it is while the graph grows
    if (node.kind == NodeKind::kOp && node.op->gradient == kNoGradient) return;
    set_origin(origin, node);
    std::vector<TensorId> result_gradients;
    for (const TensorId id : node.results)
      result_gradients.push_back(gradient(id, builder_.graph().tensor(id).annotation));
    if (std::all_of(result_gradients.begin(), result_gradients.end(),
                    [](TensorId id) { return id == kNoTensor; }))
      return;
    if (node.kind == NodeKind::kLoop)
      throw UserError(
          fmt::format(
              "the loop that makes '{}' has no gradient: the number of its rounds is known only when it runs",
              builder_.graph().tensor(node.results[0]).name),
          "a loop with 'times' in place of 'cond' has one; stop_gradient keeps gradients from reaching this "
          "one",
          node.origin->location);
    const auto gradient_of = node.kind == NodeKind::kOp ? node.op->gradient : node.composite->gradient;
    const std::optional<Node> kept = with_rounded_results(node);
    const size_t known = builder_.graph().nodes().size();
    const std::vector<TensorId> gradients = gradient_of(builder_, kept ? *kept : node, result_gradients);
    note_unread(gradients, known);
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (gradients[i] != kNoTensor && depends_[node.operands[i]]) {
        contributions_[node.operands[i]].push_back(gradients[i]);
        ++owners_[gradients[i]];
      }
  }

  // The sum of the contributions to a tensor's gradient, or kNoTensor. All users of the tensor have been
  // differentiated before.
  TensorId gradient(TensorId id, SharedAnnotation annotation) {
    std::vector<TensorId>& parts = contributions_[id];
    if (parts.empty()) return kNoTensor;
    TensorId sum = sum_of(parts);
    sum = split_like(sum, std::move(annotation), parts.size() > 1 || is_own(sum));
    parts = {sum};
    return sum;
  }

  // Many terms of bf16 are added in f32, since each addition in bf16 would round the sum. It is rounded once: on each
  // device where the sum is one over devices.
  TensorId sum_of(const std::vector<TensorId>& terms) {
    const bool rounds = builder_.type(terms[0]).dtype == DType::kBF16 && terms.size() > kFewTerms;
    const auto term = [&](TensorId id) {
      if (!rounds) return id;
      return is_own(id) ? unrounded(builder_, id) : builder_.cast(id, DType::kF32);
    };
    TensorId sum = term(terms[0]);
    for (size_t i = 1; i < terms.size(); ++i) sum = builder_.op("add", {sum, term(terms[i])});
    if (!rounds) return sum;
    return builder_.op("cast", {sum}, {{"dtype", DType::kBF16}, {kRoundsTerms, true}});
  }

  // Annotates the gradient of an annotated tensor in the same way. A gradient that other tensors share is copied first,
  // since each of them has a sharding of its own.
  TensorId split_like(TensorId gradient, SharedAnnotation annotation, bool is_own) {
    if (!annotation) return gradient;
    const SharedAnnotation known = builder_.graph().tensor(gradient).annotation;
    if (known && known->sharding == annotation->sharding) return gradient;
    if (known || !is_own) {
      const TensorId copy = builder_.op("identity", {gradient});
      copies_.emplace(copy, gradient);
      gradient = copy;
    }
    builder_.annotate(gradient, std::move(annotation));
    return gradient;
  }

  // Notes those of the gradients that the nodes after the first `known` ones have made and do not read.
  void note_unread(const std::vector<TensorId>& gradients, size_t known) {
    const Graph& graph = builder_.graph();
    for (const TensorId id : gradients) {
      if (id == kNoTensor || static_cast<size_t>(graph.tensor(id).node) < known) continue;
      bool is_read = false;
      for (size_t n = known; n < graph.nodes().size() && !is_read; ++n) {
        const std::vector<TensorId>& read = graph.nodes()[n].operands;
        is_read = std::find(read.begin(), read.end(), id) != read.end();
      }
      if (!is_read) unread_.insert(id);
    }
  }

  // True if the gradient is that of one tensor alone.
  bool is_own(TensorId gradient) const {
    const auto count = owners_.find(gradient);
    return unread_.contains(gradient) && count != owners_.end() && count->second == 1;
  }

  TensorId gradient_or_zeros(TensorId id, SharedAnnotation annotation) {
    const TensorId found = gradient(id, std::move(annotation));
    if (found != kNoTensor) return found;
    const TensorType type = builder_.type(id);
    return builder_.op("broadcast", {builder_.constant(0.0, type.dtype)}, {{"dims", type.dims}});
  }

  // Names the nodes of a tensor's gradient after that tensor, and locates them at the operation that made it.
  void set_origin(const Origin& gradients_node, const Node& node) {
    const std::string name = builder_.graph().tensor(node.results[0]).name + "/grad";
    const Location location =
        node.origin->location.pointer.empty() ? gradients_node.location : node.origin->location;
    builder_.set_origin({name, location, Phase::kBackward});
  }

  GraphBuilder& builder_;
  TensorId of_;
  std::vector<TensorId> in_;
  size_t most_;
  std::map<TensorId, TensorId>& copies_;
  PerTensor<std::vector<TensorId>> contributions_;  // per tensor of the graph before differentiation
  std::set<TensorId> unread_;                       // gradients that no other gradient is made from
  std::map<TensorId, int> owners_;                  // of each gradient: the number of times that it is one
  std::vector<bool> path_;                          // per node
  PerTensor<bool> depends_;                         // one of in_ leads to it
  PerTensor<TensorId> rounded_;                     // the bf16 copy that alone is read, or kNoTensor
};

// The nodes that a graph may have after differentiation. A gradient takes a few operations for each operand; only
// gradients of gradients, which multiply these, arrive at more.
size_t most_nodes(const Graph& graph) {
  constexpr size_t kSmall = 100'000, kForEach = 16;
  size_t count = graph.nodes().size();
  for (const Node& node : graph.nodes()) count += node.operands.size() + node.results.size();
  return kSmall + kForEach * count;
}

// Copies a gradient for a tensor that shares it with an earlier one, as x + 1 does with x. Later operations are derived
// from the gradient of the earlier tensor; nothing depends on the copy.
TensorId same_as(GraphBuilder& builder, TensorId gradient) {
  const TensorId copy = builder.op("identity", {gradient});
  if (const SharedAnnotation annotation = builder.graph().tensor(gradient).annotation)
    builder.annotate(copy, annotation);
  return copy;
}

}  // namespace

EntryGraph expand_gradients(EntryGraph entry) {
  const size_t most = most_nodes(entry.graph);
  std::map<TensorId, SharedAnnotation> annotations;  // of all gradients
  for (const Node& node : entry.graph.nodes())
    if (node.kind == NodeKind::kGradients)
      for (const TensorId id : node.results) annotations.emplace(id, entry.graph.tensor(id).annotation);
  std::map<TensorId, TensorId> copies;
  const auto replace = [&](GraphBuilder& builder, const Node& node, const TensorIds& operands) -> Replaced {
    if (node.kind != NodeKind::kGradients) return std::nullopt;
    // Later operations are derived from the gradient itself, and not from its annotated copy.
    const auto original = [&](TensorId id) {
      for (auto at = copies.find(id); at != copies.end(); at = copies.find(id)) id = at->second;
      return id;
    };
    std::vector<TensorId> in;
    std::vector<SharedAnnotation> own;
    for (size_t i = 1; i < operands.size(); ++i) {
      const SharedAnnotation& stated = annotations.at(node.results[i - 1]);
      own.push_back(stated ? stated : builder.graph().tensor(operands[i]).annotation);
      in.push_back(original(operands[i]));
    }
    std::vector<TensorId> gradients = Differentiation(builder, operands[0], in, most, copies).run(own);
    std::set<TensorId> known;
    for (TensorId& id : gradients)
      if (!known.insert(original(id)).second) id = same_as(builder, id);
    return gradients;
  };
  EntryGraph expanded = rewritten(std::move(entry), replace);
  return expand_composites(std::move(expanded));
}

}  // namespace mtfc
