#include "core/lower/combine_reductions.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/program/collective_cost.h"
#include "core/program/plan_figures.h"
#include "core/program/renumber.h"

namespace mtfc {
namespace {

// The operands of one all_reduce together: little beside the memory of any model, and small enough for a cache, because
// they are copied twice.
constexpr int64_t kLargestCombined = int64_t{1} << 20;

// All_reduces that are sent as one.
struct Batch {
  std::vector<StepIndex> starts;
  StepIndex first_wait;
  StepIndex largest;  // of the starts, that which has the largest operand
  int64_t largest_bytes = 0;
  int64_t bytes = 0;  // of the operands
};

// All members of a batch have the same phase, axes, reduction and dtype.
using Kind = std::tuple<Phase, AxisList, ReduceKind, DType>;

PerStep<StepIndex> waits_of(const EntryPoint& entry) {
  PerStep<StepIndex> waits(entry.steps.size());
  for (const StepIndex s : entry.steps.ids())
    if (const auto* wait = entry.steps[s].as<AwaitCollective>()) waits[wait->start] = s;
  return waits;
}

bool is_small_reduction(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  const auto* start = step.as<StartCollective>();
  if (!start || !works_in_place(start->collective.kind)) return false;
  const int64_t sent = largest_collective_cost(entry, step, mesh).bytes_sent;
  return sent > 0 && sent <= kPlanBytesPerCollective;
}

std::vector<Batch> find_batches(const EntryPoint& entry, const Mesh& mesh) {
  const PerStep<StepIndex> waits = waits_of(entry);
  std::vector<Batch> batches;
  std::map<Kind, size_t> last;  // by kind, the batch that the next one may join
  for (const StepIndex s : entry.steps.ids()) {
    const Step& step = entry.steps[s];
    if (!is_small_reduction(entry, step, mesh)) continue;
    const Collective& collective = step.collective();
    const int64_t bytes = largest_bytes(entry, step.inputs[0], mesh);
    const Kind kind{step.phase, collective.axes, collective.reduce, entry.values[step.inputs[0]].type.dtype};
    const auto at = last.find(kind);
    if (at == last.end() || batches[at->second].first_wait < s ||
        batches[at->second].bytes + bytes > kLargestCombined) {
      last[kind] = batches.size();
      batches.push_back({{}, waits[s], s});
    }
    Batch& batch = batches[last[kind]];
    if (bytes > batch.largest_bytes) {
      batch.largest = s;
      batch.largest_bytes = bytes;
    }
    batch.starts.push_back(s);
    batch.first_wait = std::min(batch.first_wait, waits[s]);
    batch.bytes += bytes;
  }
  std::erase_if(batches, [](const Batch& batch) { return batch.starts.size() < 2; });
  return batches;
}

}  // namespace

PartitionedEntry combine_reductions(PartitionedEntry partitioned, const Mesh& mesh) {
  EntryPoint& entry = partitioned.entry;
  const std::vector<Batch> batches = find_batches(entry, mesh);
  if (batches.empty()) return partitioned;
  const PerStep<StepIndex> waits = waits_of(entry);
  PerStep<bool> is_gone(entry.steps.size(), false);
  for (const Batch& batch : batches) {
    Step start = entry.steps[batch.largest];
    start.inputs.clear();
    start.outputs.clear();
    for (const StepIndex s : batch.starts) {
      is_gone[s] = is_gone[waits[s]] = true;
      start.inputs.push_back(entry.steps[s].inputs[0]);
      start.outputs.push_back(entry.steps[s].outputs[0]);
    }
    Step wait = start;
    wait.action = AwaitCollective{start.collective(), batch.starts.back()};
    is_gone[batch.starts.back()] = is_gone[batch.first_wait] = false;
    entry.steps[batch.starts.back()] = std::move(start);
    entry.steps[batch.first_wait] = std::move(wait);
  }
  PerStep<Step> steps;
  PerStep<StepIndex> positions(entry.steps.size());
  for (const StepIndex s : entry.steps.ids())
    if (!is_gone[s]) positions[s] = steps.add(std::move(entry.steps[s]));
  for (Step& step : steps) renumber(step, positions);
  entry.steps = std::move(steps);
  return partitioned;
}

}  // namespace mtfc
