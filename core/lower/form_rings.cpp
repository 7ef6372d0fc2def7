#include "core/lower/form_rings.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/lower/value_uses.h"
#include "core/program/renumber.h"
#include "core/program/ring.h"
#include "core/tensors/shape.h"

namespace mtfc {
namespace {

// A ring in the place of a product and a collective.
struct Found {
  Step ring;
  StepIndex collective;  // its start
  int64_t bytes = 0;     // of the whole tensor that goes
  size_t readers = 1;
};

class RingSearch {
 public:
  RingSearch(const PartitionedEntry& made, const Mesh& mesh) : entry_(made.entry), uses_(made), mesh_(mesh) {}

  // The rings that could take the place of the product, the one first that saves most.
  std::vector<Found> rings_of(StepIndex s) const {
    const Step& product = entry_.steps[s];
    std::vector<Found> found;
    if (!can_turn(product)) return found;
    for (const Turning turning : {Turning::kFirst, Turning::kSecond})
      if (auto ring = with_turning_operand(product, turning)) found.push_back(*std::move(ring));
    if (auto ring = with_turning_result(product)) found.push_back(*std::move(ring));
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& a, const Found& b) { return a.bytes > b.bytes; });
    return found;
  }

 private:
  bool can_turn(const Step& step) const {
    if (step.kind() != StepKind::kKernel || !step.op()->traits.can_turn || step.inputs.size() != 2)
      return false;
    const std::vector<TensorType> operands = global_types(entry_, step.inputs);
    const bool contracts =
        !without(unite(operands[0].dims, operands[1].dims), entry_.values[step.outputs[0]].type.dims).empty();
    return contracts && !are_one(step.inputs[0], step.inputs[1]) && operands[0].dtype == operands[1].dtype;
  }

  // True if both are aliases of one value, which may read it later.
  bool are_one(ValueId a, ValueId b) const { return root_of(entry_, a) == root_of(entry_, b); }

  // True if a sum that grows with every turn would be rounded as often.
  bool is_rounded(const Step& product) const {
    return entry_.values[product.outputs[0]].type.dtype == DType::kBF16;
  }

  // The start of a collective of this kind that makes the value, or reads it; StepIndex() otherwise.
  StepIndex collective(StepIndex s, CollectiveKind kind) const {
    const auto* start = s == StepIndex() ? nullptr : entry_.steps[s].as<StartCollective>();
    return start && start->collective.kind == kind && !start->moves.op ? s : StepIndex();
  }

  // True if the shards of `split` are those of `whole`, cut further along one dimension.
  static bool is_split_further(const Sharding& split, const Sharding& whole, const AxisList& axes) {
    const auto dim = turning_dim(split, axes);
    if (!dim) return false;
    std::vector<AxisList> without_ring = split.dims;
    without_ring[*dim].resize(without_ring[*dim].size() - axes.size());
    return without_ring == whole.dims;
  }

  std::optional<Found> with_turning_operand(const Step& product, Turning turning) const {
    const size_t operand = turning == Turning::kSecond;
    const ValueId gathered = product.inputs[operand];
    const StepIndex start = collective(uses_.maker[gathered], CollectiveKind::kAllGather);
    if (start == StepIndex()) return std::nullopt;
    const Step& gather = entry_.steps[start];
    const ValueId own = gather.inputs[0];
    if (are_one(own, product.inputs[1 - operand]) || !entry_.values[own].sharding.partial.empty() ||
        !is_split_further(entry_.values[own].sharding, entry_.values[gathered].sharding,
                          gather.collective().axes))
      return std::nullopt;
    Found found{product, start, largest_bytes(entry_, gathered, mesh_),
                uses_.readers[gathered].size() + uses_.is_kept[gathered]};
    found.ring.inputs[operand] = own;
    found.ring.action = RunRing{*product.as<RunKernel>(), gather.collective().axes, turning};
    const Ring ring(entry_, found.ring, mesh_);
    if (ring.adds_copies() || (ring.adds() && is_rounded(product))) return std::nullopt;
    return found;
  }

  std::optional<Found> with_turning_result(const Step& product) const {
    const ValueId partial = product.outputs[0];
    if (uses_.is_kept[partial] || uses_.readers[partial].size() != 1) return std::nullopt;
    const StepIndex start = collective(uses_.readers[partial][0], CollectiveKind::kReduceScatter);
    if (start == StepIndex()) return std::nullopt;
    if (is_rounded(product)) return std::nullopt;
    const Step& scatter = entry_.steps[start];
    const ValueId own = scatter.outputs[0];
    if (scatter.collective().reduce != ReduceKind::kSum ||
        !is_split_further(entry_.values[own].sharding, entry_.values[partial].sharding,
                          scatter.collective().axes))
      return std::nullopt;
    Found found{product, start, largest_bytes(entry_, partial, mesh_)};
    found.ring.outputs = {own};
    found.ring.name = entry_.values[own].name;
    found.ring.action = RunRing{*product.as<RunKernel>(), scatter.collective().axes, Turning::kResult};
    return found;
  }

  const EntryPoint& entry_;
  const ValueUses uses_;
  const Mesh& mesh_;
};

// Drops collectives whose work rings do, unless something else reads the result, and the values that go with them.
PartitionedEntry without_replaced(PartitionedEntry made, const std::vector<StepIndex>& replaced,
                                  PerValue<bool>& gone) {
  PerStep<bool> drops(made.entry.steps.size());
  const ValueUses uses(made);
  for (const StepIndex start : replaced) {
    const Step& step = made.entry.steps[start];
    const bool gathers = step.collective().kind == CollectiveKind::kAllGather;
    const ValueId whole = gathers ? step.outputs[0] : step.inputs[0];
    if (gathers && (uses.is_kept[whole] || !uses.readers[whole].empty())) continue;
    drops[start] = gone[whole] = true;
  }
  PerStep<Step> steps;
  PerStep<StepIndex> positions(made.entry.steps.size());
  for (const StepIndex s : made.entry.steps.ids()) {
    const auto* wait = made.entry.steps[s].as<AwaitCollective>();
    if (!drops[wait ? wait->start : s]) positions[s] = steps.add(std::move(made.entry.steps[s]));
  }
  for (Step& step : steps) renumber(step, positions);
  made.entry.steps = std::move(steps);
  return made;
}

// Drops the values of `gone`, which no step makes or reads any more.
PartitionedEntry without_values(PartitionedEntry made, const PerValue<bool>& gone) {
  PerValue<ValueId> positions(made.entry.values.size());
  PerValue<Value> values;
  PerValue<int> variable_of;
  for (const ValueId id : made.entry.values.ids()) {
    if (gone[id]) continue;
    positions[id] = values.add(std::move(made.entry.values[id]));
    variable_of.push_back(made.variable_of[id]);
  }
  const auto renumber = [&](ValueId& id) { id = positions[id]; };
  for (Value& value : values)
    if (value.alias_of != kNoValue) renumber(value.alias_of);
  for (Step& step : made.entry.steps) {
    std::for_each(step.inputs.begin(), step.inputs.end(), renumber);
    std::for_each(step.outputs.begin(), step.outputs.end(), renumber);
  }
  for (std::vector<Binding>* bindings : {&made.entry.inputs, &made.entry.outputs})
    for (Binding& binding : *bindings) renumber(binding.value);
  for (auto& [variable, fresh] : made.assignments) {
    renumber(variable);
    renumber(fresh);
  }
  made.entry.values = std::move(values);
  made.variable_of = std::move(variable_of);
  return made;
}

}  // namespace

PartitionedEntry form_rings(PartitionedEntry partitioned,
                            const std::function<bool(const RingCandidate&)>& wants, const Mesh& mesh) {
  const RingSearch search(partitioned, mesh);
  PerStep<std::optional<Step>> rings(partitioned.entry.steps.size());
  std::vector<StepIndex> replaced;
  for (const StepIndex s : partitioned.entry.steps.ids())
    for (Found& found : search.rings_of(s)) {
      const RingCandidate candidate{partitioned.entry, partitioned.entry.steps[s],
                                    partitioned.entry.steps[found.collective], found.ring, found.readers};
      if (!wants(candidate)) continue;
      rings[s] = std::move(found.ring);
      replaced.push_back(found.collective);
      break;
    }
  if (replaced.empty()) return partitioned;
  for (const StepIndex s : rings.ids())
    if (rings[s]) partitioned.entry.steps[s] = *std::move(rings[s]);
  PerValue<bool> gone(partitioned.entry.values.size());
  partitioned = without_replaced(std::move(partitioned), replaced, gone);
  return without_values(std::move(partitioned), gone);
}

}  // namespace mtfc
