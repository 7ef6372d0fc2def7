#include "core/explain/layout_trials.h"

#include <algorithm>

#include "core/cost/cost.h"
#include "core/diagnostics/error.h"

namespace mtfc {

Layout with_change(Layout layout, const LayoutChange& change) {
  const auto drop = [&](const std::string& pattern) {
    std::erase_if(layout.annotations, [&](const Annotation& old) { return old.pattern == pattern; });
  };
  drop(change.removed);
  if (change.annotation) {
    drop(change.annotation->pattern);
    layout.annotations.push_back(*change.annotation);
  }
  layout.propagate = layout.propagate || change.propagates;
  return layout;
}

std::vector<Rule> splits_of(const Dims& dims, const Sharding& sharding) {
  std::vector<Rule> splits;
  for (size_t d = 0; d < dims.size(); ++d)
    if (!sharding.dims[d].empty()) splits.push_back({dims[d].name, sharding.dims[d], {}});
  return splits;
}

LayoutFigures figures_of(const Program& program, const EntryPoint& entry) {
  const CostReport report = cost_report(program, entry, predicted_counts(program, entry));
  return {plan_cost(report), report.communication.total.bytes_sent, report.communication.total.count,
          report.memory.peak, report.arithmetic.einsum_per_device + report.arithmetic.other_per_device};
}

std::optional<Trial> LayoutTrials::attempt(const LayoutChange& change) {
  if (progress_) progress_(made_);
  ++made_;
  try {
    const Program program = compile(model_, with_change(layout_, change), options_);
    const EntryPoint* entry = program.find(entry_);
    check_invariant(entry != nullptr, "a change of the layout removes an entry point");
    return Trial{change, figures_of(program, *entry), reshard_steps(program, *entry)};
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace mtfc
