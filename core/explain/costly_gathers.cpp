#include "core/explain/costly_gathers.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/model/annotations.h"
#include "core/model/state_split.h"
#include "core/program/repeated_names.h"

namespace mtfc {
namespace {

constexpr int64_t kLeastBytes = int64_t{1} << 20;
constexpr double kLeastShare = 0.01;
constexpr size_t kMostExplained = 3;
// Advice that nobody has asked for must not take long: so many steps are compiled for it at most.
constexpr size_t kMostSteps = 3'000;
constexpr size_t kMostTrials = 16;

bool gathers_whole(const ReshardStep& reshard) {
  const AxisList split = split_axes(reshard.from.sharding());
  return reshard.moves.empty() && !reduces(reshard.collective.kind) && !split.empty() &&
         split_axes(reshard.to.sharding()).empty() && reshard.to.sharding().partial.empty();
}

// A change that the owner of the layout is likely to want, among `most` that are tried. `is_sought`: these are all of
// the nearest changes.
std::optional<LayoutChange> advice(const ExplainedProgram& explained, const ReshardStep& reshard, size_t most,
                                   bool& is_sought) {
  const ReshardExplanation explanation = explain_reshard(explained, reshard, {most, 0, 0});
  is_sought = explanation.tried < most || most == kMostTrials;
  const std::optional<Trial>& removal = explanation.removal;
  if (!removal || !costs_less(removal->figures, explained.figures) ||
      needs_more(removal->figures, explained.figures))
    return std::nullopt;
  return removal->change;
}

bool is_avoidable(const ReshardStep& reshard, const EntryPoint& entry) {
  return gathers_whole(reshard) && entry.steps[reshard.step].phase != Phase::kUpdate;
}

// True for a variable that the layout shards in order to gather it where it is needed, and for its copy (kAgain).
bool is_sharded_variable(const StateSplit& split, std::string_view tensor) {
  if (tensor.ends_with(kAgain)) tensor.remove_suffix(kAgain.size());
  return is_split_state(split, std::string(tensor));
}

// True if the reshard moves such a variable, or what one operation makes of it alone, such as its cast to bf16.
bool moves_sharded_variable(const ReshardStep& reshard, const StateSplit& split, const Layout& layout) {
  if (!layout.state.variables) return false;
  const std::vector<std::string>& tensors = reshard.maker.tensors;
  return is_sharded_variable(split, reshard.tensor) ||
         (tensors.size() == 2 && is_sharded_variable(split, tensors.front()));
}

int64_t all_bytes(const ExplainedProgram& explained) {
  int64_t bytes = 0;
  for (const ReshardStep& reshard : explained.reshards) bytes += reshard.all_bytes();
  return bytes;
}

double share_of(int64_t bytes, int64_t all) {
  return static_cast<double>(bytes) / static_cast<double>(all);
}

bool is_costly(int64_t bytes, int64_t all) {
  return bytes >= kLeastBytes && share_of(bytes, all) >= kLeastShare;
}

// The folded() names, or the first of them where they have different forms.
std::string one_name(const std::vector<std::string>& names) {
  const auto is_other = [&](const std::string& name) {
    return unnumbered(name) != unnumbered(names.front());
  };
  if (names.empty()) return "";
  return std::any_of(names.begin(), names.end(), is_other) ? names.front() : folded(names);
}

}  // namespace

bool may_gather(const Program& program, const EntryPoint& entry) {
  int64_t bytes = 0;
  for (const ReshardStep& reshard : reshard_steps(program, entry))
    if (is_avoidable(reshard, entry)) bytes += reshard.all_bytes();
  return bytes >= kLeastBytes;
}

std::vector<CostlyGather> costly_gathers(const ExplainedProgram& explained) {
  const int64_t bytes = all_bytes(explained);
  if (!is_costly(bytes, bytes)) return {};
  const Annotations annotations(explained.model, explained.layout);
  const StateSplit split = state_split(explained.model, explained.layout);
  struct Alike {
    CostlyGather gather;
    std::vector<std::string> tensors = {}, readers = {};
  };
  std::map<std::string, Alike> found;  // by the tensor, over layers
  for (const ReshardStep& reshard : explained.reshards) {
    if (!is_avoidable(reshard, explained.entry)) continue;
    const SharedAnnotation annotation = annotations.of(explained.entry.name, reshard.tensor);
    if (annotation && split_axes(annotation->sharding).empty()) continue;
    if (moves_sharded_variable(reshard, split, explained.layout)) continue;
    Alike& alike = found.try_emplace(over_numbers(reshard.tensor), Alike{{reshard}}).first->second;
    alike.tensors.push_back(reshard.tensor);
    if (!reshard.readers.empty()) alike.readers.push_back(reshard.readers.front().name);
    if (reshard.all_bytes() > alike.gather.reshard.all_bytes()) alike.gather.reshard = reshard;
    alike.gather.bytes += reshard.all_bytes();
  }
  std::vector<CostlyGather> gathers;
  for (auto& [name, alike] : found) {
    CostlyGather& gather = alike.gather;
    gather.share = share_of(gather.bytes, bytes);
    if (!is_costly(gather.bytes, bytes)) continue;
    gather.tensor = folded(alike.tensors);
    gather.reader = one_name(alike.readers);
    gather.count = static_cast<int64_t>(alike.tensors.size());
    gathers.push_back(std::move(gather));
  }
  std::stable_sort(gathers.begin(), gathers.end(),
                   [](const CostlyGather& a, const CostlyGather& b) { return a.bytes > b.bytes; });
  const size_t count = std::min(gathers.size(), kMostExplained);
  size_t left = std::max<size_t>(kMostSteps / std::max<size_t>(explained.entry.steps.size(), 1), 1);
  for (size_t i = 0; i < count && left > 0; ++i) {
    const size_t trials = std::min((left + count - i - 1) / (count - i), kMostTrials);
    gathers[i].removal = advice(explained, gathers[i].reshard, trials, gathers[i].is_sought);
    left -= trials;
  }
  return gathers;
}

std::optional<RepeatedGathers> gathers_in_microbatches(const ExplainedProgram& explained) {
  const std::optional<TrainSpec>& train = explained.model.train;
  if (!train || train->microbatches == 1 || !explained.layout.state.variables) return std::nullopt;
  const StateSplit split = state_split(explained.model, explained.layout);
  RepeatedGathers repeated{train->microbatches};
  for (const ReshardStep& reshard : explained.reshards)
    if (reshard.runs >= repeated.microbatches && gathers_whole(reshard) &&
        moves_sharded_variable(reshard, split, explained.layout))
      repeated.bytes += reshard.all_bytes();
  const int64_t bytes = all_bytes(explained);
  if (!is_costly(repeated.bytes, bytes)) return std::nullopt;
  repeated.share = share_of(repeated.bytes, bytes);
  return repeated;
}

}  // namespace mtfc
