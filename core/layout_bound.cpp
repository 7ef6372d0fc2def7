#include "core/layout_bound.h"

#include <algorithm>

#include "core/state_split.h"

namespace mtfc {
namespace {

double largest_part(int64_t size, int64_t parts) {
  return static_cast<double>((size + parts - 1) / parts) / static_cast<double>(size);
}

Dims dims_of(const EntryPoint& entry, const Step& step) {
  Dims dims;
  for (const std::vector<ValueId>* values : {&step.inputs, &step.outputs})
    for (const ValueId id : *values) dims = unite(dims, entry.values[static_cast<size_t>(id)].type.dims);
  return dims;
}

double seconds_at_peak(const EntryPoint& entry, const Step& step, const Hardware& hardware) {
  const auto types = [&](const std::vector<ValueId>& ids) {
    std::vector<TensorType> types;
    for (const ValueId id : ids) types.push_back(entry.values[static_cast<size_t>(id)].type);
    return types;
  };
  const std::vector<TensorType> operands = types(step.inputs), results = types(step.outputs);
  return static_cast<double>(step.op->flops({step.attributes, operands}, results)) /
         hardware.peak(results[0].dtype);
}

}  // namespace

LayoutBound::LayoutBound(const SearchSpace& space, const Model& model, const Program& program,
                         const EntryPoint& entry, const Hardware& hardware)
    : space_(space) {
  const std::vector<int64_t> runs = repetitions(entry);
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    const Step& step = entry.steps[s];
    if (step.kind != StepKind::kKernel || step.op->family != Family::kContraction) continue;
    add(seconds_, static_cast<double>(runs[s]) * seconds_at_peak(entry, step, hardware),
        dims_of(entry, step));
  }
  const Mesh& mesh = space.fixed().mesh;
  const StateSplit split = state_split(model, space.fixed(), true);
  for (const ProgramVariable& variable : program.variables) {
    const auto whole = static_cast<double>(mtfc::bytes(variable.decl.type));
    const int64_t parts = variable.decl.optimizer_state ? mesh.size(split.axes) : 1;
    add(bytes_, whole / static_cast<double>(parts), variable.decl.type.dims);
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

// Terms of the same dimensions are one.
void LayoutBound::add(std::vector<Term>& terms, double amount, const Dims& dims) {
  Term term{amount, {}};
  for (const Dim& dim : dims) {
    if (dim.size == 0) return;
    if (const Rule* rule = find_rule(space_.fixed(), dim.name))
      term.amount *= largest_part(dim.size, space_.fixed().mesh.size(rule->axes));
    for (size_t d = 0; d < space_.dims().size(); ++d)
      if (space_.dims()[d].dim.name == dim.name) term.factors.push_back(factor_of(d, dim.size));
  }
  std::sort(term.factors.begin(), term.factors.end());
  const auto same = std::find_if(terms.begin(), terms.end(),
                                 [&](const Term& other) { return other.factors == term.factors; });
  if (same == terms.end())
    terms.push_back(std::move(term));
  else
    same->amount += term.amount;
}

double LayoutBound::sum(const std::vector<Term>& terms, RuleChoice choice) const {
  double sum = 0;
  for (const Term& term : terms) {
    double amount = term.amount;
    for (const size_t f : term.factors) amount *= factors_[f].parts[choice[factors_[f].dim]];
    sum += amount;
  }
  return sum;
}

}  // namespace mtfc
