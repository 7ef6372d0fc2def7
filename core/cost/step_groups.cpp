#include "core/cost/step_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/cost/comparison.h"
#include "core/program/repeated_names.h"

namespace mtfc {
namespace {

std::vector<StepGroup> step_groups(const CostReport& report) {
  std::map<std::string, size_t> places;
  std::vector<StepGroup> groups;
  for (const StepCost& step : report.steps) {
    const std::string form = fmt::format(
        "{}\n{}\n{}\n{}\n{}\n{}\n{}", unnumbered(step.name), step.others, step.kind, to_string(step.phase),
        report.layout.mesh.names(step.axes), step.count.flops, step.count.bytes_sent);
    const auto [at, is_new] = places.try_emplace(form, groups.size());
    if (is_new) groups.push_back({step, {}, 0});
    StepGroup& group = groups[at->second];
    if (!is_new) {
      group.sum.time.seconds += step.time.seconds;
      group.sum.count.flops += step.count.flops;
      group.sum.count.bytes_sent += step.count.bytes_sent;
      group.sum.count.runs += step.count.runs;
    }
    group.members.push_back(&step);
    group.most_alive = std::max(group.most_alive, bytes_alive(report, step));
  }
  return groups;
}

}  // namespace

std::vector<StepGroup> costliest_groups(const CostReport& report) {
  const std::vector<StepGroup> groups = step_groups(report);
  CostReport sums;
  sums.arithmetic = report.arithmetic;
  sums.communication = report.communication;
  if (report.time) sums.time.emplace();
  for (const StepGroup& group : groups) sums.steps.push_back(group.sum);
  std::vector<StepGroup> ordered;
  for (const size_t index : costliest_steps(sums)) ordered.push_back(groups[index]);
  return ordered;
}

std::string folded_name(const StepGroup& group) {
  std::vector<std::string> names;
  for (const StepCost* step : group.members) names.push_back(step->name);
  return folded(names) + and_others(group.sum);
}

std::string and_others(const StepCost& step) {
  return step.others == 0 ? "" : fmt::format(" and {} more", step.others);
}

}  // namespace mtfc
