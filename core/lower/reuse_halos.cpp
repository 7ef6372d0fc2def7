#include "core/lower/reuse_halos.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/lower/value_uses.h"
#include "core/program/renumber.h"

namespace mtfc {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;

// A tensor that the backward pass takes from its shards with halos.
struct Reuse {
  ValueId whole;  // the shards with halos
  ValueId shard;
  StepIndex first_reader;  // of the backward pass
};

class HaloSearch {
 public:
  HaloSearch(const PartitionedEntry& made, const Mesh& mesh) : entry_(made.entry), mesh_(mesh), uses_(made) {}

  std::vector<Reuse> run() const {
    std::vector<Reuse> found;
    for (const StepIndex s : entry_.steps.ids()) {
      const Step& step = entry_.steps[s];
      if (step.inputs.size() != 1 || step.outputs.size() != 1 || step.op()) continue;
      if (step.kind() != StepKind::kStart && step.kind() != StepKind::kSlice) continue;
      const auto is_known = [&](const Reuse& reuse) { return reuse.shard == step.inputs[0]; };
      if (std::any_of(found.begin(), found.end(), is_known)) continue;
      if (const auto reuse = reuse_of(step.inputs[0], step.outputs[0], s)) found.push_back(*reuse);
    }
    return found;
  }

 private:
  // `move`: the step that makes the shards with halos.
  std::optional<Reuse> reuse_of(ValueId shard, ValueId whole, StepIndex move) const {
    const Value &from = entry_.values[shard], &to = entry_.values[whole];
    const bool is_made = uses_.maker[shard] != StepIndex() && from.alias_of == kNoValue;
    if (to.sharding.windows.empty() || !from.sharding.partial.empty() || !is_made || uses_.is_kept[shard])
      return std::nullopt;
    if (largest_bytes(entry_, shard, mesh_) < kLeastBytes ||
        !covers(from.type.dims, to.sharding, from.sharding, mesh_))
      return std::nullopt;
    // The backward pass reads both, and nothing else reads the shard after that.
    const std::vector<StepIndex>&readers = uses_.readers[shard], &others = uses_.readers[whole];
    const auto first =
        std::find_if(readers.begin(), readers.end(), [&](StepIndex s) { return is_backward(s); });
    if (first == readers.begin() || first == readers.end() || move >= *first) return std::nullopt;
    if (!std::all_of(first, readers.end(), [&](StepIndex s) { return is_backward(s); })) return std::nullopt;
    if (others.empty() || !is_backward(others.back())) return std::nullopt;
    return Reuse{whole, shard, *first};
  }

  bool is_backward(StepIndex s) const { return entry_.steps[s].phase == Phase::kBackward; }

  const EntryPoint& entry_;
  const Mesh& mesh_;
  const ValueUses uses_;
};

Step slice_of(EntryPoint& entry, PerValue<int>& variable_of, const Reuse& reuse) {
  Value again = entry.values[reuse.shard];
  again.name = tensor_name(again) + "@again";
  again.from_model = false;
  Step slice;
  slice.name = again.name;
  slice.source = entry.steps[reuse.first_reader].source;
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
  std::multimap<StepIndex, Step> slices;  // by the step before which they stand
  for (const Reuse& reuse : found) {
    Step slice = slice_of(entry, partitioned.variable_of, reuse);
    for (const StepIndex s : entry.steps.ids()) {
      std::vector<ValueId>& inputs = entry.steps[s].inputs;
      if (s >= reuse.first_reader) std::replace(inputs.begin(), inputs.end(), reuse.shard, slice.outputs[0]);
    }
    slices.emplace(reuse.first_reader, std::move(slice));
  }
  PerStep<Step> steps;
  PerStep<StepIndex> positions;
  for (const StepIndex s : entry.steps.ids()) {
    const auto [begin, end] = slices.equal_range(s);
    for (auto at = begin; at != end; ++at) steps.push_back(std::move(at->second));
    positions.push_back(steps.add(std::move(entry.steps[s])));
  }
  for (Step& step : steps) renumber(step, positions);
  entry.steps = std::move(steps);
  return partitioned;
}

}  // namespace mtfc
