#include "core/search/layout_bound.h"

#include <algorithm>

#include "core/cost/kernel_time.h"
#include "core/model/state_split.h"
#include "core/passes/steps/kept_values.h"

namespace mtfc {
namespace {

double largest_part(int64_t size, int64_t parts) {
  if (size == 0) return 0;
  const int64_t largest = (size + parts - 1) / parts;
  return static_cast<double>(largest) / static_cast<double>(size);
}

Dims dims_of(const EntryPoint& entry, const Step& step) {
  Dims dims;
  for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
    for (const ValueId id : *values) dims = unite(dims, entry.values[id].type.dims);
  return dims;
}

}  // namespace

LayoutBound::LayoutBound(const SearchSpace& space, const Model& model, const Program& program,
                         const EntryPoint& entry, const Hardware& hardware)
    : space_(space) {
  add_operations(model, entry, hardware);
  add_variables(model, program);
  add_kept_values(entry);
}

void LayoutBound::add_operations(const Model& model, const EntryPoint& entry, const Hardware& hardware) {
  const double update_parts = static_cast<double>(state_parts(model));
  const std::vector<int64_t> runs = repetitions(entry);
  const auto add = [&](const Step& step, int64_t times) {
    const bool is_product = step.op()->family == Family::kContraction;
    seconds_[{view_of(dims_of(entry, step))}] +=
        static_cast<double>(times) * least_seconds(entry, step, hardware) / (is_product ? 1 : update_parts);
  };
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    if (step.kind() == StepKind::kKernel) add(step, runs[s]);
    for (const Step& part : step.members()) add(part, runs[s]);
  }
}

// The number of parts into which `shard_state_over` splits optimizer state and updates beyond the rules.
int64_t LayoutBound::state_parts(const Model& model) const {
  return space_.fixed().mesh.size(state_split(model, space_.fixed(), true).axes);
}

void LayoutBound::add_variables(const Model& model, const Program& program) {
  const auto parts_of_state = static_cast<double>(state_parts(model));
  for (const ProgramVariable& variable : program.variables) {
    const TensorType& type = variable.decl.type;
    const double parts = variable.decl.optimizer_state ? parts_of_state : 1;
    bytes_[{view_of(type.dims)}] += static_cast<double>(mtfc::bytes(type)) / parts;
  }
}

void LayoutBound::add_kept_values(const EntryPoint& entry) {
  for (const ValueViews& views : kept_values(entry)) {
    const TensorType& type = entry.values[views.front()].type;
    std::vector<View> forms;
    for (const ValueId id : views) forms.push_back(view_of(entry.values[id].type.dims));
    std::sort(forms.begin(), forms.end());
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    bytes_[forms] += static_cast<double>(mtfc::bytes(type));
  }
}

size_t LayoutBound::factor_of(size_t dim, int64_t size) {
  for (size_t f = 0; f < factors_.size(); ++f)
    if (factors_[f].dim == dim && factors_[f].size == size) return f;
  Factor factor{dim, size, {}};
  for (const AxisList& axes : space_.dims()[dim].options)
    factor.parts.push_back(largest_part(size, space_.fixed().mesh.size(axes)));
  factors_.push_back(std::move(factor));
  return factors_.size() - 1;
}

LayoutBound::View LayoutBound::view_of(const Dims& dims) {
  View view;
  for (const Dim& dim : dims) {
    if (const Rule* rule = find_rule(space_.fixed(), dim.name))
      view.part *= largest_part(dim.size, space_.fixed().mesh.size(rule->axes));
    for (size_t d = 0; d < space_.dims().size(); ++d)
      if (space_.dims()[d].dim.name == dim.name) view.factors.push_back(factor_of(d, dim.size));
  }
  std::sort(view.factors.begin(), view.factors.end());
  return view;
}

double LayoutBound::sum(const Terms& terms, RuleChoice choice) const {
  double sum = 0;
  for (const auto& [views, amount] : terms) {
    double least = 1;
    for (const View& view : views) {
      double part = view.part;
      for (const size_t f : view.factors) part *= factors_[f].parts[choice[factors_[f].dim]];
      least = std::min(least, part);
    }
    sum += amount * least;
  }
  return sum;
}

}  // namespace mtfc
