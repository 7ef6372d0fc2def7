#include "core/rewrite/microbatch_loop.h"

#include <algorithm>
#include <map>
#include <variant>

#include "core/diagnostics/error.h"
#include "core/graph/custom_gradient.h"
#include "core/graph/op_registry.h"
#include "core/graph/reachability.h"
#include "core/model/model_graphs.h"
#include "core/model/training.h"

namespace mtfc {
namespace {

constexpr size_t kCounter = 0;  // the first operand of the loop: the number of the microbatch

// True if the loop gets the results of `node` from outside. These are leaves, data that take the whole batch,
// and numbers that are drawn once for all microbatches.
bool is_given(const LoopCut& cut, const Node& node) {
  const TensorId id = node.results[0];
  if (is_leaf(node)) return true;
  const bool is_drawn = node.operands.empty() && cut.is_learned(id) && cut.use(id) == BatchUse::kNone;
  const bool needs_all = cut.use(id) != BatchUse::kRows && cut.use(id) != BatchUse::kNone;
  return is_drawn || (needs_all && !cut.is_learned(id));
}

bool is_drawn_by_row(const LoopCut& cut, const Node& node) {
  const TensorId id = node.results[0];
  return node.operands.empty() && cut.is_learned(id) && cut.use(id) == BatchUse::kRows;
}

// The attributes of an operation, for the rows of one microbatch.
Attributes resized(const Attributes& attributes, const MicrobatchDims& dims) {
  const auto resized = [&](const Dim& dim) {
    const RowDim* row = dims.find(dim.name);
    return row ? row->part : dim;
  };
  Attributes made;
  for (const auto& [name, value] : attributes.entries()) {
    AttributeValue copied = value;
    for_each_dim(copied, [&](Dim& dim) { dim = resized(dim); });
    made.set(name, std::move(copied));
  }
  return made;
}

// The dimensions of one microbatch with its dimension of rows as [units, unit].
Dims in_units(const Dims& whole, const MicrobatchDims& dims) {
  return without(in_microbatches(whole, dims), {dims.number});
}

// Copies tensors of the forward graph into the graph of one round when they are asked for, with all that they
// depend on. Each tensor is copied once.
class RoundBuilder {
 public:
  RoundBuilder(GraphBuilder& outer, const LoopCut& cut, const TensorMap& outside)
      : outer_(outer),
        cut_(cut),
        outside_(outside),
        inside_(outside.size(), kNoTensor),
        masters_(masters(cut.graph)) {}

  GraphBuilder& graph() { return round_; }
  TensorId counter() const { return round_.graph().find(leaf_name(kCounter)); }
  TensorId inside(TensorId id) const { return inside_[id]; }

  // Hands a tensor of the outer graph to the loop, and gives the leaf that stands for it.
  TensorId add_operand(TensorId operand) {
    operands_.push_back(operand);
    return round_.add_input(leaf_name(operands_.size() - 1), outer_.type(operand));
  }

  // The tensor in this round, of the rows of its microbatch where it has rows.
  TensorId compute(TensorId wanted) {
    if (inside(wanted) != kNoTensor) return inside(wanted);
    const auto is_lacking = [&](const Node& reader, TensorId id) {
      return !is_given(cut_, reader) && inside(id) == kNoTensor;
    };
    for (const int n : nodes_behind(cut_.graph, wanted, is_lacking)) {
      const Node& node = cut_.graph.node(n);
      if (is_given(cut_, node))
        for (const TensorId id : node.results) inside_[id] = given(id);
      else
        copy(node);
    }
    return inside(wanted);
  }

  // Ends the building: the loop, with these results of a round.
  MicrobatchLoop finish(std::vector<TensorId> results, size_t sums) && {
    auto loop = std::make_shared<GraphLoop>();
    loop->times = cut_.train.microbatches;
    loop->sums = sums;
    loop->body = {std::move(round_).build(), std::move(results)};
    return {std::move(loop), std::move(operands_)};
  }

 private:
  TensorId given(TensorId id) {
    const Tensor& tensor = cut_.graph.tensor(id);
    if (const auto master = masters_.find(tensor.name); master != masters_.end())
      return held(tensor.name, master->second);
    if (!cut_.has_batch(tensor.type.dims)) return add_operand(outside_[id]);  // it keeps the name of a leaf
    const auto origin = std::make_shared<const Origin>(Origin{"train", cut_.train.location, Phase::kForward});
    outer_.set_origin(origin);
    const TensorId all = add_operand(
        outer_.op("reshape", {outside_[id]}, {{"dims", in_microbatches(tensor.type.dims, cut_.dims)}}));
    round_.set_origin(origin);
    const TensorId units = round_.op("gather", {all, counter()}, {{"dim", cut_.dims.number}});
    const TensorId picked = in_parts(units);
    round_.name(picked, tensor.name);
    return picked;
  }

  // A variable that is read in bf16 alone. It is rounded once for all rounds, in which it has the rounded elements.
  TensorId held(const std::string& name, TensorId rounded) {
    outer_.set_origin(
        std::make_shared<const Origin>(Origin{name + kHeldCopy, cut_.train.location, Phase::kForward}));
    const TensorId leaf =
        add_operand(outer_.add(op_named("identity"), {outside_[rounded]}, {}, {name + kHeldCopy})[0]);
    round_.set_origin(std::make_shared<const Origin>(Origin{"train", cut_.train.location, Phase::kForward}));
    return round_.cast(leaf, DType::kF32);
  }

  // A tensor of units of rows, in the dimensions of a microbatch.
  TensorId in_parts(TensorId units) {
    Dims dims;
    for (const Dim& dim : round_.type(units).dims)
      if (const RowDim* row = cut_.dims.find(dim.name))
        dims.push_back(row->part);
      else if (!is_unit(dim))
        dims.push_back(dim);
    return dims == round_.type(units).dims ? units : round_.op("reshape", {units}, {{"dims", dims}});
  }

  bool is_unit(const Dim& dim) const {
    return std::any_of(cut_.dims.rows.begin(), cut_.dims.rows.end(),
                       [&](const RowDim& row) { return row.unit.name == dim.name; });
  }

  void copy(const Node& node) {
    std::vector<std::string> names = cut_.graph.names(node.results);
    if (adds_rows(node.results[0])) names[0] += "/part";
    round_.set_origin(node.origin);
    const std::vector<TensorId> results = copied(node, names);
    for (size_t i = 0; i < results.size(); ++i) {
      inside_[node.results[i]] = as_mean(node.results[i], results[i]);
      round_.mark_from_model(results[i], cut_.graph.tensor(node.results[i]).from_model);
    }
  }

  std::vector<TensorId> copied(const Node& node, const std::vector<std::string>& names) {
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) operands.push_back(inside(id));
    if (node.backward) return custom(node, std::move(operands), names);
    Attributes attributes = resized(node.attributes, cut_.dims);
    if (node.kind == NodeKind::kComposite)
      return round_.add(*node.composite, operands, std::move(attributes), names);
    check_invariant(node.kind == NodeKind::kOp, "a loop or gradients would go into a microbatch");
    if (is_drawn_by_row(cut_, node)) return {drawn(node, std::move(attributes), names)};
    // The gradients of all microbatches are added up before they are rounded.
    if (rounds_variable(cut_.graph, node)) attributes.set("keep_gradient", true);
    return round_.add(*node.op, operands, std::move(attributes), names);
  }

  // Its backward part, for the rows of one microbatch.
  std::vector<TensorId> custom(const Node& node, std::vector<TensorId> operands,
                               const std::vector<std::string>& names) {
    const CustomGradientCounts counts = custom_gradient_counts(node);
    GraphBuilder part;
    std::vector<TensorId> leaves;
    for (size_t i = 0; i < operands.size() + counts.results; ++i)
      leaves.push_back(part.add_input(
          leaf_name(i), round_.graph().type(operands[i < operands.size() ? i : i - operands.size()])));
    const auto add = [&](const Node& inner, std::vector<TensorId> inner_operands) {
      part.set_origin(inner.origin);
      Attributes attributes = resized(inner.attributes, cut_.dims);
      const std::vector<std::string> inner_names = node.backward->graph.names(inner.results);
      return inner.kind == NodeKind::kComposite
                 ? part.add(*inner.composite, std::move(inner_operands), std::move(attributes), inner_names)
                 : part.add(*inner.op, std::move(inner_operands), std::move(attributes), inner_names);
    };
    LoopPart backward;
    backward.results = inlined(*node.backward, leaves, add);
    backward.graph = std::move(part).build();
    return add_custom_gradient(
        round_, {counts, std::make_shared<const LoopPart>(std::move(backward)), cut_.train.microbatches},
        std::move(operands), names);
  }

  // Random numbers depend on the name of what is drawn and on positions there, which units of rows keep.
  TensorId drawn(const Node& node, Attributes attributes, const std::vector<std::string>& names) {
    const Dims& whole = cut_.graph.type(node.results[0]).dims;
    const RowDim& row =
        *cut_.dims.find(whole[static_cast<size_t>(row_position(whole, cut_.uses.row_dims))].name);
    attributes.set("dims", in_units(whole, cut_.dims));
    attributes.set("interleaved", Dim{row.whole.name, cut_.uses.units});
    const TensorId units = round_.add(*node.op, {counter()}, std::move(attributes), names)[0];
    return in_parts(units);
  }

  bool adds_rows(TensorId id) const { return cut_.uses.adds[id]; }

  // A sum over the rows of a microbatch is multiplied by the number of microbatches. The mean over all rounds
  // is then the sum over the batch.
  TensorId as_mean(TensorId id, TensorId made) {
    if (!adds_rows(id)) return made;
    const auto count = static_cast<double>(cut_.train.microbatches);
    const TensorId mean = round_.op("mul", {made, round_.constant(count, round_.type(made).dtype)});
    round_.name(mean, cut_.graph.tensor(id).name);
    return mean;
  }

  GraphBuilder& outer_;
  const LoopCut& cut_;
  const TensorMap& outside_;
  GraphBuilder round_;
  TensorMap inside_;
  std::vector<TensorId> operands_;  // of the loop
  std::map<std::string, TensorId, std::less<>> masters_;
};

// The carried operands: the number of the microbatch, and an empty tensor for all rows of each of `cut.rows`.
std::vector<TensorId> carried_operands(GraphBuilder& builder, const LoopCut& cut) {
  builder.set_origin({"train", cut.train.location, Phase::kForward});
  std::vector<TensorId> carried = {builder.constant(0, DType::kI32)};
  for (const TensorId id : cut.rows) {
    const TensorType& type = cut.graph.type(id);
    const TensorId zero = builder.constant(0, type.dtype);
    carried.push_back(builder.op("broadcast", {zero}, {{"dims", in_microbatches(type.dims, cut.dims)}}));
  }
  return carried;
}

// A sum over microbatches is made in f32 at least.
TensorId summand(GraphBuilder& graph, TensorId id) {
  return graph.type(id).dtype == DType::kBF16 ? graph.cast(id, DType::kF32) : id;
}

// The share of the loss that depends on this microbatch: the tensors that it is linear in, each multiplied by
// the gradient of the loss by it.
TensorId objective(RoundBuilder& round, const LoopCut& cut, const TailGradients& tail) {
  if (cut.stage(cut.loss) == Stage::kLoop) return round.inside(cut.loss);
  TensorId sum = kNoTensor;
  for (size_t i = 0; i < cut.tail.reduced.size(); ++i) {
    const TensorId weight = round.add_operand(tail.by_reduced[i]);
    const TensorId reduced = round.inside(cut.tail.reduced[i]);
    round.graph().set_origin({"train", cut.train.location, Phase::kForward});
    const TensorId term = round.graph().op("reduce_sum", {round.graph().op("mul", {reduced, weight})});
    sum = sum == kNoTensor ? term : round.graph().op("add", {sum, term});
  }
  return sum;
}

std::vector<TensorId> add_gradients(RoundBuilder& round, const LoopCut& cut, const TailGradients& tail) {
  std::vector<TensorId> variables;
  std::vector<std::string> names;
  for (const std::string& name : cut.trained) {
    variables.push_back(round.compute(cut.graph.find(name)));
    names.push_back(name + kMicrobatchGradient);
  }
  const TensorId of = objective(round, cut, tail);
  round.graph().set_origin({"", cut.train.location, Phase::kBackward});
  return round.graph().add_gradients(of, variables, names);
}

}  // namespace

Dims in_microbatches(const Dims& dims, const MicrobatchDims& cut) {
  Dims made;
  for (const Dim& dim : dims) {
    const RowDim* row = cut.find(dim.name);
    made.push_back(row ? row->units : dim);
    if (!row) continue;
    made.push_back(cut.number);
    if (row->unit.size > 1) made.push_back(row->unit);
  }
  return made;
}

MicrobatchLoop build_loop(GraphBuilder& builder, const LoopCut& cut, const TensorMap& outside,
                          const TailGradients& tail) {
  RoundBuilder round(builder, cut, outside);
  for (const TensorId operand : carried_operands(builder, cut)) round.add_operand(operand);
  for (const std::vector<TensorId>* wanted : {&cut.rows, &cut.sums, &cut.tail.reduced})
    for (const TensorId id : *wanted) round.compute(id);
  const std::vector<TensorId> gradients = add_gradients(round, cut, tail);

  GraphBuilder& graph = round.graph();
  graph.set_origin({"train", cut.train.location, Phase::kForward});
  std::vector<TensorId> results = {graph.op("add", {round.counter(), graph.constant(1, DType::kI32)})};
  for (size_t i = 0; i < cut.rows.size(); ++i) {
    const TensorId so_far = graph.graph().find(leaf_name(kCounter + 1 + i));
    TensorId rows = round.inside(cut.rows[i]);
    const Dims units = in_units(cut.graph.type(cut.rows[i]).dims, cut.dims);
    if (units != graph.type(rows).dims) rows = graph.op("reshape", {rows}, {{"dims", units}});
    const std::vector<TensorId> operands = {so_far, rows, round.counter()};
    results.push_back(graph.op("update_slice", operands, {{"dim", cut.dims.number}}));
  }
  for (const TensorId id : cut.sums) results.push_back(summand(graph, round.inside(id)));
  for (size_t i = 0; i < gradients.size(); ++i) {
    graph.set_origin({cut.trained[i] + kMicrobatchGradient, cut.train.location, Phase::kForward});
    results.push_back(summand(graph, gradients[i]));
  }
  return std::move(round).finish(std::move(results), cut.sums.size() + gradients.size());
}

}  // namespace mtfc
