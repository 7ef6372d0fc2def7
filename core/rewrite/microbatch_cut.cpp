#include "core/rewrite/microbatch_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/graph/reachability.h"
#include "core/model/model_graphs.h"

namespace mtfc {
namespace {

bool makes_any_of(const Node& node, const PerTensor<bool>& tensors) {
  return std::any_of(node.results.begin(), node.results.end(), [&](TensorId id) { return tensors[id]; });
}

PerTensor<bool> only(const Graph& graph, const std::vector<TensorId>& ids) {
  PerTensor<bool> marked(graph.tensors().size(), false);
  for (const TensorId id : ids) marked[id] = true;
  return marked;
}

std::vector<std::string> trained_variables(const Model& model) {
  std::vector<std::string> names;
  for (const VariableDecl& variable : model.variables)
    if (variable.trainable) names.push_back(variable.name);
  return names;
}

// The first dimension of every input that has any.
Dim batch_of(const Model& model) {
  const TrainSpec& train = *model.train;
  const InputDecl* first = nullptr;
  for (const InputDecl& input : model.inputs) {
    if (input.type.dims.empty()) continue;
    if (first && input.type.dims[0] != first->type.dims[0])
      throw UserError(fmt::format("'microbatches' cuts the first dimension of the inputs into parts, but the "
                                  "first dimension of '{}' is '{}' and that of '{}' is '{}'",
                                  first->name, first->type.dims[0].name, input.name, input.type.dims[0].name),
                      "all inputs must have the same first dimension", train.microbatches_location);
    if (!first) first = &input;
  }
  if (!first)
    throw UserError(
        "'microbatches' cuts the first dimension of the inputs into parts, but no input has a dimension", "",
        train.microbatches_location);
  const Dim& batch = first->type.dims[0];
  if (batch.size % train.microbatches != 0)
    throw UserError(
        fmt::format("{} microbatches don't divide '{}' of size {}", train.microbatches, batch.name,
                    batch.size),
        fmt::format("use a divisor of {}, or make '{}' larger, as with --set {}={}", batch.size, batch.name,
                    batch.name, (batch.size / train.microbatches + 1) * train.microbatches),
        train.microbatches_location);
  return batch;
}

MicrobatchDims dims_of(const Model& model) {
  const Dim batch = batch_of(model);
  const int64_t count = model.train->microbatches;
  std::string number = "microbatch";
  while (contains(model.dims, number)) number += "_";
  return {batch, {number, count}};
}

std::vector<RowDim> row_dims_of(const BatchUses& uses, int64_t microbatches) {
  std::vector<RowDim> rows;
  for (const Dim& dim : uses.row_dims)
    rows.push_back({dim,
                    {dim.name, dim.size / microbatches},
                    {dim.name, uses.units / microbatches},
                    {dim.name + "/unit", dim.size / uses.units}});
  return rows;
}

// Tensors that depend on data alone are computed before the loop, from the whole batch. The loop computes
// them once more from its own rows where it needs those.
Stage stage_of(const BatchUses& uses, TensorId id) {
  const BatchUse use = uses.use[id];
  if (!uses.learned[id] || use == BatchUse::kNone) return Stage::kBefore;
  const bool is_reduced = uses.reduced[id] && use != BatchUse::kWhole;
  return use == BatchUse::kRows || is_reduced ? Stage::kLoop : Stage::kAfter;
}

void require_uncut_variables(const LoopCut& cut) {
  for (const std::string& name : cut.trained)
    for (const Dim& dim : cut.graph.type(cut.graph.find(name)).dims)
      if (cut.dims.find(dim.name))
        throw UserError(
            fmt::format(
                "the trained variable '{}' has the dimension '{}', which 'microbatches' cuts into parts",
                name, dim.name),
            dim.name == cut.dims.batch.name ? "give the inputs a first dimension that no weights have"
                                            : "give the weights a dimension of another name",
            cut.train.microbatches_location);
}

// The first node on a way to the loss that takes all rows of the batch at once, or nullptr.
const Node* first_on_whole_batch(const LoopCut& cut) {
  const PerTensor<bool> leads = with_ancestors(cut.graph, only(cut.graph, {cut.loss}));
  for (const Node& node : cut.graph.nodes())
    if (makes_any_of(node, leads) && cut.use(node.results[0]) == BatchUse::kWhole &&
        cut.is_learned(node.results[0]))
      return &node;
  return nullptr;
}

void require_mean_loss(const LoopCut& cut) {
  if (cut.use(cut.loss) == BatchUse::kMean && cut.is_learned(cut.loss)) return;
  const Location& location = cut.train.microbatches_location;
  const Node* culprit = first_on_whole_batch(cut);
  if (!culprit)
    throw UserError("the loss does not depend on the batch, which 'microbatches' cuts into parts", "",
                    location);
  for (const CutReshape& reshape : cut.uses.cut_reshapes)
    if (reshape.result == culprit->results[0])
      throw UserError(
          fmt::format("{} microbatches would cut '{}' of '{}', which has {} elements for the {} of "
                      "'{}'",
                      cut.train.microbatches, reshape.dim.name, cut.graph.tensor(reshape.result).name,
                      reshape.dim.size, cut.dims.batch.size, cut.dims.batch.name),
          fmt::format("use a divisor of {}", std::gcd(cut.uses.units, reshape.dim.size)),
          culprit->origin->location.pointer.empty() ? location : culprit->origin->location);
  throw UserError(fmt::format("with 'microbatches' the loss must be a mean or a sum over '{}', but '{}', on "
                              "which it depends, takes all rows at once",
                              cut.dims.batch.name, cut.graph.tensor(culprit->results[0]).name),
                  "it must be computed from each row alone, or be linear in means over the rows",
                  culprit->origin->location.pointer.empty() ? location : culprit->origin->location);
}

LossTail find_tail(const LoopCut& cut) {
  const Graph& graph = cut.graph;
  LossTail tail;
  PerTensor<bool> leads_to_loss = only(graph, {cut.loss});
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (!makes_any_of(node, leads_to_loss)) continue;
    if (cut.stage(node.results[0]) == Stage::kLoop) {
      tail.reduced.push_back(node.results[0]);
      continue;
    }
    for (const TensorId id : node.operands)
      if (cut.is_learned(id)) leads_to_loss[id] = true;
  }
  for (const Node& node : graph.nodes())
    if (leads_to_loss[node.results[0]] && cut.stage(node.results[0]) == Stage::kAfter)
      tail.nodes.push_back(&node);
  for (const std::string& name : cut.trained) tail.uses_variables.push_back(leads_to_loss[graph.find(name)]);
  return tail;
}

// Per tensor: whether it is an output, is assigned to a variable, or is an operand of a node after the loop
// that leads to one of these.
PerTensor<bool> needed_after_loop(const EntryGraph& forward, const LoopCut& cut) {
  PerTensor<bool> needed(cut.graph.tensors().size(), false);
  for (const NamedTensor& output : forward.outputs) needed[output.tensor] = true;
  for (const Assignment& assignment : forward.assignments) needed[assignment.value] = true;
  for (size_t n = cut.graph.nodes().size(); n-- > 0;) {
    const Node& node = cut.graph.nodes()[n];
    if (cut.stage(node.results[0]) != Stage::kAfter || !makes_any_of(node, needed)) continue;
    for (const TensorId id : node.operands) needed[id] = true;
  }
  return needed;
}

// A tensor that the loop computes on the way from an operand of the gradients to the scalar that they are of, or
// kNoTensor.
TensorId in_loop_between(const LoopCut& cut, const Node& gradients) {
  const PerTensor<bool> leads = with_ancestors(cut.graph, only(cut.graph, {gradients.operands[0]}));
  PerTensor<bool> depends = only(cut.graph, {gradients.operands.begin() + 1, gradients.operands.end()});
  for (const Node& node : cut.graph.nodes()) {
    if (std::none_of(node.operands.begin(), node.operands.end(), [&](TensorId id) { return depends[id]; }))
      continue;
    for (const TensorId id : node.results) {
      depends[id] = true;
      if (leads[id] && cut.stage(id) == Stage::kLoop) return id;
    }
  }
  return kNoTensor;
}

// What is computed after the loop can't look into its rounds.
void require_gradients_beside_loop(const LoopCut& cut) {
  for (const Node* node : cut.after) {
    if (node->kind != NodeKind::kGradients) continue;
    const TensorId between = in_loop_between(cut, *node);
    if (between == kNoTensor) continue;
    const Location& stated = node->origin->location;
    throw UserError(
        fmt::format(
            "with 'microbatches' there is no gradient through '{}', which each microbatch computes from a "
            "part of '{}', but '{}' is one",
            cut.graph.tensor(between).name, cut.dims.batch.name, cut.graph.tensor(node->results[0]).name),
        "leave out 'microbatches', or this gradient; those of the loss by variables are called VARIABLE/grad",
        stated.pointer.empty() ? cut.train.microbatches_location : stated);
  }
}

// Says of each trained variable if the loop reads it in bf16 alone, and nothing asks for an f32 gradient of that.
std::vector<bool> rounded_gradients(const LoopCut& cut) {
  const PerTensor<bool> leads = with_ancestors(cut.graph, only(cut.graph, cut.tail.reduced));
  PerTensor<bool> reads_f32 = only(cut.graph, {}), reads_bf16 = reads_f32;
  for (const Node& node : cut.graph.nodes()) {
    if (!makes_any_of(node, leads)) continue;
    const bool rounds = rounds_variable(cut.graph, node) && !node.attributes.get_or("keep_gradient", false);
    for (const TensorId id : node.operands) (rounds ? reads_bf16 : reads_f32)[id] = true;
  }
  std::vector<bool> rounded;
  for (const std::string& name : cut.trained) {
    const TensorId id = cut.graph.find(name);
    rounded.push_back(cut.graph.type(id).dtype == DType::kBF16 || (reads_bf16[id] && !reads_f32[id]));
  }
  return rounded;
}

}  // namespace

const RowDim* MicrobatchDims::find(std::string_view name) const {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const RowDim& row) { return row.whole.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

LoopCut find_cut(const EntryGraph& forward, const Model& model) {
  const Graph& graph = forward.graph;
  const MicrobatchDims dims = dims_of(model);
  const int64_t microbatches = model.train->microbatches;
  const std::vector<std::string> trained = trained_variables(model);
  LoopCut cut{graph, *model.train, dims, trained, batch_uses(graph, dims.batch, trained, microbatches), {}};
  cut.dims.rows = row_dims_of(cut.uses, microbatches);
  for (const TensorId id : graph.tensors().ids()) cut.stages.push_back(stage_of(cut.uses, id));
  cut.loss = forward.outputs.back().tensor;
  require_uncut_variables(cut);
  require_mean_loss(cut);
  cut.tail = find_tail(cut);
  cut.rounded = rounded_gradients(cut);
  const PerTensor<bool> needed = needed_after_loop(forward, cut);
  for (const TensorId id : graph.tensors().ids())
    if (needed[id] && cut.stage(id) == Stage::kLoop)
      (cut.use(id) == BatchUse::kRows ? cut.rows : cut.sums).push_back(id);
  for (const Node& node : graph.nodes()) {
    const Stage stage = cut.stage(node.results[0]);
    if (stage == Stage::kBefore) cut.before.push_back(&node);
    if (stage == Stage::kAfter && makes_any_of(node, needed)) cut.after.push_back(&node);
  }
  require_gradients_beside_loop(cut);
  return cut;
}

}  // namespace mtfc
