#include "core/explain/layout_trials.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cost/cost.h"
#include "core/diagnostics/error.h"
#include "core/diagnostics/progress.h"
#include "core/explain/explained_program.h"
#include "core/tensors/tensor_form.h"

namespace mtfc {

Layout with_change(Layout layout, const LayoutChange& change) {
  std::erase_if(layout.annotations, [&](const Annotation& old) { return old.pattern == change.removed; });
  if (change.annotation) {
    const auto same =
        std::find_if(layout.annotations.begin(), layout.annotations.end(),
                     [&](const Annotation& old) { return old.pattern == change.annotation->pattern; });
    if (same == layout.annotations.end())
      layout.annotations.push_back(*change.annotation);
    else
      *same = *change.annotation;
  }
  layout.propagate = layout.propagate || change.propagates;
  return layout;
}

std::vector<Rule> splits_of(const Dims& dims, const Sharding& sharding) {
  check_form(dims, sharding);
  std::vector<Rule> splits;
  for (size_t d = 0; d < dims.size(); ++d)
    if (!sharding.dims[d].empty()) splits.push_back({dims[d].name, sharding.dims[d], {}});
  return splits;
}

LayoutFigures figures_of(const Program& program, const EntryPoint& entry, const Hardware* hardware) {
  const CostReport report = cost_report(program, entry, predicted_counts(program, entry), hardware);
  LayoutFigures figures{plan_cost(report),
                        {},
                        report.communication.total.bytes_sent,
                        report.communication.total.count,
                        report.memory.peak,
                        report.arithmetic.einsum_per_device + report.arithmetic.other_per_device};
  if (report.time) figures.seconds = report.time->step_s;
  return figures;
}

bool costs_less(const LayoutFigures& a, const LayoutFigures& b) {
  return a.seconds && b.seconds ? *a.seconds < *b.seconds : a.cost < b.cost;
}

bool needs_more(const LayoutFigures& a, const LayoutFigures& b) {
  return a.flops > b.flops + b.flops / 1000 || a.memory > b.memory + b.memory / 100;
}

bool LayoutTrials::has_ended() const {
  return explained_.options.ends_choice && explained_.options.ends_choice();
}

std::optional<Trial> LayoutTrials::attempt(const LayoutChange& change) {
  if (has_ended()) return std::nullopt;
  ++made_;
  const LargerWork work(fmt::format("trying change {} of the layout", made_));
  const CompileOptions& options = explained_.options;
  // The change may decide anew how tensors are split.
  Plan plan = explained_.program.plan;
  plan.variables.clear();
  plan.tensors.clear();
  try {
    const Program program = compile(explained_.model, with_change(explained_.layout, change), options, plan);
    const EntryPoint* entry = program.find(explained_.entry.name);
    check_invariant(entry != nullptr, "a change of the layout removes an entry point");
    if (has_ended()) return std::nullopt;  // its plan may not be the best
    return Trial{change, figures_of(program, *entry, options.hardware), reshard_steps(program, *entry)};
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace mtfc
