#include "core/explain/waste.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/cost/cost.h"

namespace mtfc {
namespace {

constexpr double kLeastExcess = 0.05;
constexpr int64_t kLeastCopiedBytes = 1 << 20;  // bytes
constexpr int64_t kPartsOfPeak = 20;  // copies of less than one part in so many of the peak are passed over

using Split = std::pair<std::string, AxisList>;  // a dimension's name, and its axes

// Calls `look` for each dimension that is split by its shards. What windows read is uneven by nature.
template <typename Look>
void for_each_split(const Value& value, const Look& look) {
  for (size_t d = 0; d < value.sharding.dims.size(); ++d) {
    const bool by_window = std::any_of(value.sharding.windows.begin(), value.sharding.windows.end(),
                                       [&](const WindowSplit& window) { return window.dim == d; });
    if (!value.sharding.dims[d].empty() && !by_window) look(value.type.dims[d], value.sharding.dims[d]);
  }
}

UnevenSplit split_of(const Dim& dim, const AxisList& axes, const Mesh& mesh) {
  UnevenSplit split{dim, axes, 1, mesh.size(axes), 0, 0, 0};
  split.empty = std::max<int64_t>(0, split.parts - dim.size);
  split.largest = (dim.size + split.parts - 1) / split.parts;
  return split;
}

// The same dimension may have several sizes, as in parts of the batch: the worst counts.
std::map<Split, UnevenSplit> uneven_splits(const EntryPoint& entry, const Mesh& mesh) {
  std::map<Split, UnevenSplit> splits;
  for (const Value& value : entry.values)
    for_each_split(value, [&](const Dim& dim, const AxisList& axes) {
      const UnevenSplit made = split_of(dim, axes, mesh);
      if (dim.size == 0 || made.excess() < kLeastExcess) return;
      const auto [at, is_new] = splits.emplace(Split{dim.name, axes}, made);
      if (!is_new && made.excess() > at->second.excess()) at->second = made;
    });
  return splits;
}

// Adds the arithmetic by which the largest shards exceed the mean.
void add_flops(const Program& program, const EntryPoint& entry, std::map<Split, UnevenSplit>& splits) {
  const std::vector<StepCount> counts = predicted_counts(program, entry);
  size_t index = 0;
  for (const Step& step : entry.steps) {
    const int64_t flops = counts[index++].flops;
    if (!step.multiplies() || flops == 0) continue;
    std::map<Split, UnevenSplit*> met;
    for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
      for (const ValueId id : *values)
        for_each_split(entry.values[id], [&](const Dim& dim, const AxisList& axes) {
          const auto at = splits.find({dim.name, axes});
          if (at != splits.end()) met[at->first] = &at->second;
        });
    for (const auto& [key, split] : met)
      split->flops +=
          static_cast<int64_t>(static_cast<double>(flops) * split->excess() / (1 + split->excess()));
  }
}

std::vector<int> unused_axes(const Program& program, const EntryPoint& entry) {
  std::set<int> used;
  const auto note = [&](const Sharding& sharding) {
    const AxisList axes = split_axes(sharding);
    used.insert(axes.begin(), axes.end());
  };
  for (const Value& value : entry.values) note(value.sharding);
  for (const ProgramVariable& variable : program.variables) note(variable.sharding);
  std::vector<int> unused;
  for (int axis = 0; axis < static_cast<int>(program.mesh().axes().size()); ++axis)
    if (program.mesh().size(axis) > 1 && !used.contains(axis)) unused.push_back(axis);
  return unused;
}

std::optional<CopiedState> copied_state(const Program& program, const EntryPoint& entry) {
  if (program.layout.state.is_stated()) return std::nullopt;
  std::optional<CopiedState> most;
  for (int axis = 0; axis < static_cast<int>(program.mesh().axes().size()); ++axis) {
    CopiedState state{axis, 0, 0};
    for (const ProgramVariable& variable : program.variables) {
      if (!variable.decl.optimizer_state) continue;
      const AxisList axes = split_axes(variable.sharding);
      const bool is_split = std::find(axes.begin(), axes.end(), axis) != axes.end();
      state.bytes += variable.bytes;
      state.least += is_split ? variable.bytes : variable.bytes / program.mesh().size(axis);
    }
    if (!most || state.least < most->least) most = state;
  }
  if (!most) return std::nullopt;
  const int64_t copies = most->bytes - most->least;
  return copies >= std::max(kLeastCopiedBytes, entry.arena_bytes / kPartsOfPeak) ? most : std::nullopt;
}

}  // namespace

double UnevenSplit::excess() const {
  return static_cast<double>(largest * parts) / static_cast<double>(dim.size) - 1;
}

Waste waste_of(const Program& program, const EntryPoint& entry) {
  Waste waste;
  waste.unused_axes = unused_axes(program, entry);
  std::map<Split, UnevenSplit> splits = uneven_splits(entry, program.mesh());
  add_flops(program, entry, splits);
  for (auto& [key, split] : splits)
    if (split.flops > 0 || names_dim(program.layout, split.dim.name)) {
      const auto whole = program.names.find(split.dim.name);
      if (whole != program.names.end() && whole->second > static_cast<double>(split.dim.size))
        split.pieces = std::llround(whole->second / static_cast<double>(split.dim.size));
      waste.uneven.push_back(std::move(split));
    }
  std::stable_sort(waste.uneven.begin(), waste.uneven.end(), [](const UnevenSplit& a, const UnevenSplit& b) {
    return std::pair(a.empty, a.excess()) > std::pair(b.empty, b.excess());
  });
  waste.state = copied_state(program, entry);
  return waste;
}

}  // namespace mtfc
