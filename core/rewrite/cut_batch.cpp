#include "core/rewrite/cut_batch.h"

#include <string>
#include <utility>

#include "core/graph/expand_composites.h"
#include "core/model/training.h"
#include "core/rewrite/microbatch_cut.h"
#include "core/rewrite/microbatch_loop.h"

namespace mtfc {
namespace {

// Adds copies of `nodes`, the operands of which are in `outside`, and notes their results there. Only if they are
// `named` have these the names of the forward graph.
TensorMap with_copies(GraphBuilder& builder, const LoopCut& cut, const std::vector<const Node*>& nodes,
                      TensorMap outside, bool named = true) {
  for (const Node* node : nodes) {
    std::vector<TensorId> operands;
    for (const TensorId id : node->operands) operands.push_back(outside[id]);
    builder.set_origin(node->origin);
    const std::vector<TensorId> results = named
                                              ? builder.copy(cut.graph, *node, std::move(operands))
                                              : builder.add(*node->op, std::move(operands), node->attributes);
    for (size_t i = 0; i < results.size(); ++i) outside[node->results[i]] = results[i];
  }
  return outside;
}

// Differentiates the loss with zeros in the place of the tensors that it is linear in. Its gradients by them do not
// depend on their values, and so can be computed before the loop.
TailGradients differentiate_tail(GraphBuilder& builder, const LoopCut& cut, TensorMap outside) {
  if (cut.stage(cut.loss) == Stage::kLoop) return {};
  std::vector<TensorId> in;
  for (const TensorId id : cut.tail.reduced) {
    builder.set_origin(cut.graph.producer(id).origin);
    const TensorType& type = cut.graph.type(id);
    in.push_back(builder.op("broadcast", {builder.constant(0, type.dtype)}, {{"dims", type.dims}}));
    outside[id] = in.back();
  }
  const size_t zeros = in.size();
  const TensorId loss = with_copies(builder, cut, cut.tail.nodes, outside, false)[cut.loss];
  for (size_t i = 0; i < cut.trained.size(); ++i)
    if (cut.tail.uses_variables[i]) in.push_back(outside[cut.graph.find(cut.trained[i])]);
  builder.set_origin({"", cut.train.location, Phase::kBackward});
  std::vector<TensorId> gradients = builder.add_gradients(loss, in);

  TailGradients tail;
  for (size_t i = 0, next = zeros; i < cut.trained.size(); ++i)
    tail.by_variables.push_back(cut.tail.uses_variables[i] ? gradients[next++] : kNoTensor);
  gradients.resize(zeros);
  tail.by_reduced = std::move(gradients);
  return tail;
}

std::vector<TensorId> add_loop(GraphBuilder& builder, const LoopCut& cut, const MicrobatchLoop& made) {
  std::vector<std::string> names = {"train/microbatch"};
  for (const TensorId id : cut.rows) names.push_back(cut.graph.tensor(id).name + "/parts");
  for (const TensorId id : cut.sums) names.push_back(cut.graph.tensor(id).name + "/sum");
  for (const std::string& name : cut.trained) names.push_back(name + "/grad/sum");
  builder.set_origin({"train", cut.train.location, Phase::kBackward});
  return builder.add_loop(made.loop, made.operands, names);
}

TensorId mean_over_rounds(GraphBuilder& builder, const LoopCut& cut, TensorId sum) {
  const double share = 1.0 / static_cast<double>(cut.train.microbatches);
  return builder.op("mul", {sum, builder.constant(share, builder.type(sum).dtype)});
}

// The tensor in bf16. Where devices hold terms of it, each rounds its own.
TensorId rounded(GraphBuilder& builder, TensorId id) {
  return builder.op("cast", {id}, {{"dtype", DType::kBF16}, {kRoundsTerms, true}});
}

// Notes in `outside` the tensors of the forward graph that the loop gives. `results` are those of the loop.
TensorMap with_loop_results(GraphBuilder& builder, const LoopCut& cut, const std::vector<TensorId>& results,
                            TensorMap outside) {
  const auto put = [&](TensorId id, TensorId made) {
    const Tensor& tensor = cut.graph.tensor(id);
    builder.name(made, tensor.name);
    builder.mark_from_model(made, tensor.from_model);
    outside[id] = made;
  };
  size_t next = 1;  // after the number of the round
  for (const TensorId id : cut.rows) {
    builder.set_origin(cut.graph.producer(id).origin);
    put(id, builder.op("reshape", {results[next++]}, {{"dims", cut.graph.type(id).dims}}));
  }
  for (const TensorId id : cut.sums) {
    builder.set_origin(cut.graph.producer(id).origin);
    const TensorId sum = results[next++];
    if (cut.use(id) != BatchUse::kMean) {
      put(id, builder.op("identity", {sum}));
      continue;
    }
    const TensorId mean = mean_over_rounds(builder, cut, sum);
    put(id, cut.graph.type(id).dtype == DType::kBF16 ? rounded(builder, mean) : mean);
  }
  return outside;
}

// Adds the gradients of the loss by the trained variables. `sums` are those that the loop has added up.
void add_whole_gradients(GraphBuilder& builder, const LoopCut& cut, const std::vector<TensorId>& sums,
                         const TailGradients& tail) {
  for (size_t i = 0; i < cut.trained.size(); ++i) {
    // Only the gradient itself is split as the layout says of gradients. What it is made of stays as microbatches give
    // it.
    builder.set_origin({cut.trained[i] + kMicrobatchGradient, cut.train.location, Phase::kBackward});
    TensorId gradient = mean_over_rounds(builder, cut, sums[i]);
    // As in a step without microbatches, devices add up their terms in bf16.
    if (cut.rounded[i])
      gradient =
          builder.cast(rounded(builder, gradient), cut.graph.type(cut.graph.find(cut.trained[i])).dtype);
    if (cut.tail.uses_variables[i]) gradient = builder.op("add", {gradient, tail.by_variables[i]});
    builder.name(gradient, cut.trained[i] + "/grad");
  }
}

}  // namespace

EntryGraph cut_batch(EntryGraph forward, const Model& model) {
  if (!model.train || model.train->microbatches == 1) return forward;
  // Random draws within composites are to be seen.
  forward = expand_composites(std::move(forward), true);
  const LoopCut cut = find_cut(forward, model);
  GraphBuilder builder;
  const TensorMap nothing(cut.graph.tensors().size(), kNoTensor);
  TensorMap outside = with_copies(builder, cut, cut.before, nothing);
  const TailGradients tail = differentiate_tail(builder, cut, outside);
  const MicrobatchLoop loop = build_loop(builder, cut, outside, tail);
  const std::vector<TensorId> results = add_loop(builder, cut, loop);
  outside = with_loop_results(builder, cut, results, std::move(outside));
  const std::vector<TensorId> sums(results.end() - static_cast<std::ptrdiff_t>(cut.trained.size()),
                                   results.end());
  add_whole_gradients(builder, cut, sums, tail);
  outside = with_copies(builder, cut, cut.after, std::move(outside));
  for (const auto& [name, id] : cut.graph.aliases())
    if (outside[id] != kNoTensor && builder.is_free(name)) builder.alias(outside[id], name);
  for (NamedTensor& output : forward.outputs) output.tensor = outside[output.tensor];
  for (Assignment& assignment : forward.assignments) assignment.value = outside[assignment.value];
  forward.graph = std::move(builder).build();
  return forward;
}

}  // namespace mtfc
