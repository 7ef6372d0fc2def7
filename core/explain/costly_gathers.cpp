#include "core/explain/costly_gathers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/model/annotations.h"

namespace mtfc {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;
constexpr double kLeastShare = 0.01;
constexpr size_t kMostExplained = 3;
constexpr size_t kTrials = 16;

bool gathers_whole(const ReshardStep& reshard) {
  const AxisList split = split_axes(reshard.from);
  return reshard.moves.empty() && !reduces(reshard.collective.kind) && !split.empty() &&
         split_axes(reshard.to).empty() && reshard.to.partial.empty();
}

}  // namespace

std::vector<CostlyGather> costly_gathers(const ExplainedProgram& explained) {
  const std::vector<ReshardStep> all = reshard_steps(explained.program, explained.entry);
  int64_t bytes = 0;
  for (const ReshardStep& reshard : all) bytes += reshard.all_bytes();
  const auto is_costly = [&](int64_t sent) {
    return sent >= kLeastBytes && static_cast<double>(sent) >= kLeastShare * static_cast<double>(bytes);
  };
  if (!is_costly(bytes)) return {};
  const Annotations annotations(explained.model, explained.layout);
  const ModelNames names(explained.model, explained.entry.name);
  std::map<std::string, CostlyGather> found;  // by the tensor, over layers
  for (const ReshardStep& reshard : all) {
    if (!gathers_whole(reshard) || explained.entry.steps[reshard.step].phase == Phase::kUpdate) continue;
    const SharedAnnotation annotation = annotations.of_variable(reshard.tensor);
    if (annotation && split_axes(annotation->sharding).empty()) continue;
    const auto [at, is_new] =
        found.try_emplace(names.over_layers(reshard.tensor), CostlyGather{reshard, 0, 0, {}});
    CostlyGather& gather = at->second;
    if (!is_new) ++gather.others;
    if (reshard.all_bytes() > gather.reshard.all_bytes()) gather.reshard = reshard;
    gather.share += static_cast<double>(reshard.all_bytes()) / static_cast<double>(bytes);
  }
  std::vector<CostlyGather> gathers;
  for (auto& [name, gather] : found)
    if (is_costly(gather.reshard.all_bytes())) gathers.push_back(std::move(gather));
  std::stable_sort(gathers.begin(), gathers.end(),
                   [](const CostlyGather& a, const CostlyGather& b) { return a.share > b.share; });
  for (size_t i = 0; i < std::min(gathers.size(), kMostExplained); ++i)
    gathers[i].removal = explain_reshard(explained, gathers[i].reshard, kTrials).removal;
  return gathers;
}

}  // namespace mtfc
