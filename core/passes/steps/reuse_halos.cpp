#include "core/passes/steps/reuse_halos.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/program/renumber.h"

namespace mtfc {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;

// A tensor that the backward pass takes from its shards with halos.
struct Reuse {
  ValueId whole;  // the shards with halos
  ValueId shard;
  size_t first_reader = 0;  // of the backward pass
};

class HaloSearch {
 public:
  HaloSearch(const PartitionedEntry& made, const Mesh& mesh)
      : entry_(made.entry),
        mesh_(mesh),
        readers_(made.entry.values.size()),
        is_made_(made.entry.values.size()),
        is_kept_(made.entry.values.size()) {
    for (size_t s = 0; s < entry_.steps.size(); ++s) {
      for (const ValueId id : step(s).inputs) readers_[id].push_back(s);
      for (const ValueId id : step(s).outputs) is_made_[id] = true;
    }
    for (const Value& value : entry_.values)
      if (value.alias_of != kNoValue) is_kept_[value.alias_of] = true;
    for (const ValueId id : entry_.values.ids())
      if (entry_.values[id].alias_of != kNoValue) is_kept_[id] = true;
    for (const Binding& output : entry_.outputs) is_kept_[output.value] = true;
    for (const auto& [variable, fresh] : made.assignments) is_kept_[variable] = is_kept_[fresh] = true;
  }

  std::vector<Reuse> run() const {
    std::vector<Reuse> found;
    for (size_t s = 0; s < entry_.steps.size(); ++s) {
      const Step& step = this->step(s);
      if (step.inputs.size() != 1 || step.outputs.size() != 1 || step.op()) continue;
      if (step.kind() != StepKind::kStart && step.kind() != StepKind::kSlice) continue;
      const auto is_known = [&](const Reuse& reuse) { return reuse.shard == step.inputs[0]; };
      if (std::any_of(found.begin(), found.end(), is_known)) continue;
      if (const auto reuse = reuse_of(step.inputs[0], step.outputs[0], s)) found.push_back(*reuse);
    }
    return found;
  }

 private:
  std::optional<Reuse> reuse_of(ValueId shard, ValueId whole, size_t maker) const {
    const Value &from = entry_.values[shard], &to = entry_.values[whole];
    if (to.sharding.windows.empty() || !from.sharding.partial.empty() || is_kept_[shard] || !is_made_[shard])
      return std::nullopt;
    if (largest_bytes(entry_, shard, mesh_) < kLeastBytes ||
        !covers(from.type.dims, to.sharding, from.sharding, mesh_))
      return std::nullopt;
    // The backward pass reads both, and nothing else reads the shard after that.
    std::optional<size_t> first;
    for (const size_t s : readers_[shard]) {
      const bool is_backward = step(s).phase == Phase::kBackward;
      if (is_backward && !first) first = s;
      if (!is_backward && first) return std::nullopt;
    }
    if (!first || readers_[shard].front() == *first || readers_[whole].empty()) return std::nullopt;
    if (maker >= *first) return std::nullopt;
    if (step(readers_[whole].back()).phase != Phase::kBackward) return std::nullopt;
    return Reuse{whole, shard, *first};
  }

  const Step& step(size_t s) const { return entry_.steps[StepIndex(s)]; }

  const EntryPoint& entry_;
  const Mesh& mesh_;
  PerValue<std::vector<size_t>> readers_;  // steps, ascending
  PerValue<bool> is_made_;                 // by a step
  PerValue<bool> is_kept_;                 // is an output, is assigned, has an alias or is one
};

Step slice_of(EntryPoint& entry, PerValue<int>& variable_of, const Reuse& reuse) {
  Value again = entry.values[reuse.shard];
  again.name = tensor_name(again) + "@again";
  again.from_model = false;
  Step slice;
  slice.name = again.name;
  slice.source = entry.steps[StepIndex(reuse.first_reader)].source;
  slice.phase = Phase::kBackward;
  slice.inputs = {reuse.whole};
  slice.action = KeepSlice{};
  variable_of.push_back(-1);
  slice.outputs = {entry.values.add(std::move(again))};
  return slice;
}

}  // namespace

PartitionedEntry reuse_halos(PartitionedEntry partitioned, const Mesh& mesh) {
  const std::vector<Reuse> found = HaloSearch(partitioned, mesh).run();
  if (found.empty()) return partitioned;
  EntryPoint& entry = partitioned.entry;
  std::multimap<size_t, Step> slices;  // by the step before which they stand
  for (const Reuse& reuse : found) {
    Step slice = slice_of(entry, partitioned.variable_of, reuse);
    for (size_t s = reuse.first_reader; s < entry.steps.size(); ++s) {
      std::vector<ValueId>& inputs = entry.steps[StepIndex(s)].inputs;
      std::replace(inputs.begin(), inputs.end(), reuse.shard, slice.outputs[0]);
    }
    slices.emplace(reuse.first_reader, std::move(slice));
  }
  PerStep<Step> steps;
  PerStep<StepIndex> positions;
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const auto [begin, end] = slices.equal_range(s);
    for (auto at = begin; at != end; ++at) steps.push_back(std::move(at->second));
    positions.push_back(steps.add(std::move(entry.steps[StepIndex(s)])));
  }
  for (Step& step : steps) renumber(step, positions);
  entry.steps = std::move(steps);
  return partitioned;
}

}  // namespace mtfc
