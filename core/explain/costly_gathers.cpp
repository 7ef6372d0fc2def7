#include "core/explain/costly_gathers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/model/annotations.h"
#include "core/model/state_split.h"
#include "core/passes/graph/regather.h"

namespace mtfc {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;
constexpr double kLeastShare = 0.01;
constexpr size_t kMostExplained = 3;
// Advice that nobody has asked for must not take long: so many steps are compiled for it at most.
constexpr size_t kMostSteps = 12'000;
constexpr size_t kMostTrials = 16;

bool gathers_whole(const ReshardStep& reshard) {
  const AxisList split = split_axes(reshard.from.sharding());
  return reshard.moves.empty() && !reduces(reshard.collective.kind) && !split.empty() &&
         split_axes(reshard.to.sharding()).empty() && reshard.to.sharding().partial.empty();
}

// A change that the owner of the layout is likely to want, among `most` that are tried.
std::optional<LayoutChange> advice(const ExplainedProgram& explained, const ReshardStep& reshard,
                                   size_t most) {
  const std::optional<Trial> removal = explain_reshard(explained, reshard, {most, 0, 0}).removal;
  if (!removal || !costs_less(removal->figures, explained.figures) ||
      needs_more(removal->figures, explained.figures))
    return std::nullopt;
  return removal->change;
}

bool is_avoidable(const ReshardStep& reshard, const EntryPoint& entry) {
  return gathers_whole(reshard) && entry.steps[reshard.step].phase != Phase::kUpdate;
}

// True for a variable that the layout shards in order to gather it where it is needed.
bool is_sharded_variable(const StateSplit& split, const Layout& layout, const std::string& tensor) {
  return layout.state.variables && (is_split_state(split, tensor) ||
                                    (tensor.ends_with(kAgain) &&
                                     is_split_state(split, tensor.substr(0, tensor.size() - kAgain.size()))));
}

}  // namespace

bool may_gather(const Program& program, const EntryPoint& entry) {
  int64_t bytes = 0;
  for (const ReshardStep& reshard : reshard_steps(program, entry))
    if (is_avoidable(reshard, entry)) bytes += reshard.all_bytes();
  return bytes >= kLeastBytes;
}

std::vector<CostlyGather> costly_gathers(const ExplainedProgram& explained) {
  int64_t bytes = 0;
  for (const ReshardStep& reshard : explained.reshards) bytes += reshard.all_bytes();
  const auto is_costly = [&](int64_t sent) {
    return sent >= kLeastBytes && static_cast<double>(sent) >= kLeastShare * static_cast<double>(bytes);
  };
  if (!is_costly(bytes)) return {};
  const Annotations annotations(explained.model, explained.layout);
  const StateSplit split = state_split(explained.model, explained.layout);
  std::map<std::string, CostlyGather> found;  // by the tensor, over layers
  for (const ReshardStep& reshard : explained.reshards) {
    if (!is_avoidable(reshard, explained.entry)) continue;
    const SharedAnnotation annotation = annotations.of(explained.entry.name, reshard.tensor);
    if (annotation && split_axes(annotation->sharding).empty()) continue;
    if (is_sharded_variable(split, explained.layout, reshard.tensor)) continue;
    const auto [at, is_new] =
        found.try_emplace(explained.names.over_layers(reshard.tensor), CostlyGather{reshard, 0, 0, 0, {}});
    CostlyGather& gather = at->second;
    if (!is_new) ++gather.others;
    if (reshard.all_bytes() > gather.reshard.all_bytes()) gather.reshard = reshard;
    gather.bytes += reshard.all_bytes();
  }
  std::vector<CostlyGather> gathers;
  for (auto& [name, gather] : found) {
    gather.share = static_cast<double>(gather.bytes) / static_cast<double>(bytes);
    if (is_costly(gather.bytes)) gathers.push_back(std::move(gather));
  }
  std::stable_sort(gathers.begin(), gathers.end(),
                   [](const CostlyGather& a, const CostlyGather& b) { return a.bytes > b.bytes; });
  const size_t count = std::min(gathers.size(), kMostExplained);
  size_t left = std::max<size_t>(kMostSteps / std::max<size_t>(explained.entry.steps.size(), 1), 1);
  for (size_t i = 0; i < count && left > 0; ++i) {
    const size_t trials = std::min((left + count - i - 1) / (count - i), kMostTrials);
    gathers[i].removal = advice(explained, gathers[i].reshard, trials);
    left -= trials;
  }
  return gathers;
}

}  // namespace mtfc
