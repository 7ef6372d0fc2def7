#include "core/compile/passes.h"

#include <algorithm>
#include <utility>

#include "core/compile/ring_choice.h"
#include "core/graph/expand_composites.h"
#include "core/lower/assign_buffers.h"
#include "core/lower/combine_reductions.h"
#include "core/lower/form_rings.h"
#include "core/lower/fuse.h"
#include "core/lower/inline_loops.h"
#include "core/lower/partition.h"
#include "core/lower/reuse_halos.h"
#include "core/lower/schedule.h"
#include "core/rewrite/cheap_tensors.h"
#include "core/rewrite/cut_batch.h"
#include "core/rewrite/expand_gradients.h"
#include "core/rewrite/mix_precision.h"
#include "core/rewrite/order_contractions.h"
#include "core/rewrite/recompute.h"
#include "core/rewrite/regather.h"
#include "core/rewrite/remove_dead.h"
#include "core/rewrite/share_common.h"
#include "core/rewrite/simplify.h"
#include "core/rewrite/store_weights.h"

namespace mtfc {
namespace {

using Context = const PassContext&;

// A forward node that nothing but the backward pass has read is dead after it has been computed again.
EntryGraph rematerialized(EntryGraph entry, const PassContext& context) {
  return remove_dead(recompute(std::move(entry), context.plan().recomputed));
}

// Lowers the loops of the graph by the same passes, on their own. What loops add up is then split, and
// partial, as their bodies give it.
ShardedEntry lower_loops(ShardedEntry sharded, const PassContext& context) {
  const Nodes& nodes = sharded.entry.graph.nodes();
  std::vector<ShardedEntry> parts = std::exchange(sharded.parts, {});
  size_t part = 0;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].loop) continue;
    const LoopSteps loop{context.lower_part(std::move(parts[part])),
                         context.lower_part(std::move(parts[part + 1])), nodes[n].loop->times,
                         nodes[n].loop->sums};
    part += 2;
    const EntryPoint& body = loop.body.entry;
    for (size_t i = body.outputs.size() - loop.sums; i < body.outputs.size(); ++i)
      sharded.strategies[n].results[i] = body.values[body.outputs[i].value].sharding;
    sharded.loops.push_back(loop);
  }
  return sharded;
}

PartitionedEntry with_rings(PartitionedEntry steps, const PassContext& context) {
  const Hardware* faster_on = context.by_rules ? nullptr : context.options.hardware;
  const auto wants = [&](const RingCandidate& candidate) {
    return wants_ring(candidate, context.program.layout, context.plan().saves_by_rings, faster_on);
  };
  return form_rings(std::move(steps), wants, context.mesh());
}

// A row's function, for one that takes a value of the type From, and perhaps the context or the mesh.
template <typename From, auto kRun>
PassValue run_on(PassValue value, const PassContext& context) {
  From from = std::get<From>(std::move(value));
  if constexpr (std::is_invocable_v<decltype(kRun), From, Context>)
    return kRun(std::move(from), context);
  else if constexpr (std::is_invocable_v<decltype(kRun), From, const Mesh&>)
    return kRun(std::move(from), context.mesh());
  else
    return kRun(std::move(from));
}
template <auto kRun>
constexpr auto kOnGraph = run_on<EntryGraph, kRun>;
template <auto kRun>
constexpr auto kOnSteps = run_on<PartitionedEntry, kRun>;

constexpr bool kOnlyImproves = true, kKeepsGradients = true;

constexpr Pass kPasses[] = {
    {PassStage::kForm, "mix_precision",
     run_on<Model,
            [](Model model, Context context) {
              const std::optional<Precision>& precision = context.form->precision;
              return precision ? mix_precision(std::move(model), *precision) : model;
            }>},
    {PassStage::kForm, "store_weights",
     run_on<Model, [](Model model,
                      Context context) { return store_weights(std::move(model), context.form->weights); }>},
    {PassStage::kTrain, "cut_batch",
     kOnGraph<[](EntryGraph entry, Context context) { return cut_batch(std::move(entry), *context.model); }>},
    {PassStage::kExpand, "expand_composites",
     kOnGraph<[](EntryGraph entry) { return expand_composites(std::move(entry)); }>, false, kKeepsGradients},
    {PassStage::kExpand, "expand_gradients", kOnGraph<expand_gradients>},
    {PassStage::kSimplify, "remove_dead", kOnGraph<remove_dead>, kOnlyImproves},
    {PassStage::kSimplify, "simplify",
     kOnGraph<[](EntryGraph entry) { return remove_dead(simplify(std::move(entry))); }>, kOnlyImproves},
    {PassStage::kSimplify, "order_contractions", kOnGraph<order_contractions>},
    {PassStage::kSimplify, "share_common", kOnGraph<share_common>, kOnlyImproves},
    {PassStage::kRematerialize, "recompute_cheap", kOnGraph<recompute_cheap>, kOnlyImproves},
    {PassStage::kRematerialize, "recompute", kOnGraph<rematerialized>},
    {PassStage::kChoose, "regather", kOnGraph<[](EntryGraph entry, Context context) {
       return regather(std::move(entry), context.split.regathered);
     }>},
    {PassStage::kChoose, "regather_between", kOnGraph<[](EntryGraph entry, Context context) {
       return regather_between(std::move(entry), context.conditions->layout);
     }>,
     kOnlyImproves},
    {PassStage::kChoose, "choose_plan", kOnGraph<[](EntryGraph entry, Context context) {
       return choose_plan(std::move(entry), *context.conditions);
     }>},
    {PassStage::kLower, "lower_loops", run_on<ShardedEntry, lower_loops>},
    {PassStage::kLower, "partition",
     run_on<ShardedEntry,
            [](const ShardedEntry& sharded, Context context) {
              return partition(sharded, context.variables(), context.mesh());
            }>},
    {PassStage::kLower, "form_rings", kOnSteps<with_rings>, kOnlyImproves},
    {PassStage::kLower, "reuse_halos", kOnSteps<reuse_halos>, kOnlyImproves},
    // After it, some values live within one step, and get no place in memory.
    {PassStage::kLower, "fuse", kOnSteps<[](PartitionedEntry steps, Context context) {
       return fuse(std::move(steps), context.options.keep_all, context.mesh());
     }>,
     kOnlyImproves},
    {PassStage::kLower, "schedule", kOnSteps<schedule>, kOnlyImproves},
    {PassStage::kLower, "start_ahead", kOnSteps<start_ahead>, kOnlyImproves},
    {PassStage::kLower, "combine_reductions", kOnSteps<combine_reductions>, kOnlyImproves},
    {PassStage::kLower, "inline_loops", kOnSteps<inline_loops>},
    {PassStage::kPlace, "assign_buffers", kOnSteps<[](PartitionedEntry steps, Context context) {
       EntryPoint entry =
           assign_buffers(std::move(steps), context.variables(), context.bytes, context.mesh());
       const auto of_program = static_cast<std::ptrdiff_t>(context.program.variables.size());
       entry.caches.assign(context.variables().begin() + of_program, context.variables().end());
       return entry;
     }>},
};

}  // namespace

std::span<const Pass> passes_of(PassStage stage) {
  const auto is_of = [&](const Pass& pass) { return pass.stage == stage; };
  const auto first = std::find_if(std::begin(kPasses), std::end(kPasses), is_of);
  return {first, std::find_if_not(first, std::end(kPasses), is_of)};
}

std::span<const Pass> all_passes() {
  return kPasses;
}

}  // namespace mtfc
