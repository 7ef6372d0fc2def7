#include "core/search/layout_bound.h"

#include <algorithm>
#include <numeric>

#include "core/lower/kept_values.h"
#include "core/model/state_split.h"

namespace mtfc {
namespace {

// A table with more choices takes longer to fill than it saves. Its terms count with the least that their dimensions
// can make of them, one dimension after the other.
constexpr size_t kMostChoices = 20'000;

double largest_part(int64_t size, int64_t parts) {
  if (size == 0) return 0;
  const int64_t largest = (size + parts - 1) / parts;
  return static_cast<double>(largest) / static_cast<double>(size);
}

}  // namespace

LayoutBound::LayoutBound(const SearchSpace& space, const Model& model, const Hardware& hardware,
                         const Program& alone, const std::vector<PreparedModel::Part>& parts,
                         const std::string& entry)
    : space_(space), least_(std::make_unique<LeastTimes>(hardware, space.fixed().mesh)) {
  StateSplit split = state_split(model, space.fixed());
  add_variables(alone, static_cast<double>(space.fixed().mesh.size(split.axes)));
  add_kept_values(*alone.find(entry));
  input_ =
      std::make_unique<BoundInput>(BoundInput{parts, hardware, *least_, std::move(split), space.pairs()});
  std::vector<BoundTerm> terms = bound_terms(*input_);
  find_order(terms);
  add_tables(std::move(terms));
}

// Most of a model's time depends on a few dimensions. Those are decided first.
void LayoutBound::find_order(const std::vector<BoundTerm>& terms) {
  std::vector<double> weights(space_.dims().size(), 0);
  for (const BoundTerm& term : terms) {
    const double seconds = term.times * term.cost(space_.fixed()).seconds();
    for (size_t d = 0; d < weights.size(); ++d)
      if (term.dims.count(space_.dims()[d].dim.name) > 0) weights[d] += seconds;
  }
  order_.resize(weights.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  place_.resize(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
}

void LayoutBound::add_tables(std::vector<BoundTerm> terms) {
  std::map<std::vector<size_t>, std::vector<BoundTerm>> by_scope;
  for (BoundTerm& term : terms) {
    std::vector<size_t> scope;
    for (const size_t d : order_)
      if (term.dims.count(space_.dims()[d].dim.name) > 0) scope.push_back(d);
    by_scope[std::move(scope)].push_back(std::move(term));
  }
  for (auto& [dims, of_scope] : by_scope) {
    BoundTable::Scope scope{
        dims, {}, [this](size_t dim, uint16_t option, size_t other, uint16_t other_option) {
          return space_.agree(dim, option, other, other_option);
        }};
    for (const size_t d : dims) scope.options.push_back(space_.dims()[d].options.size());
    const auto cost = [this, scoped = dims, summed = std::move(of_scope)](std::span<const uint16_t> options) {
      std::vector<uint16_t> choice(space_.dims().size(), 0);
      for (size_t i = 0; i < scoped.size(); ++i) choice[scoped[i]] = options[i];
      const Layout layout = space_.layout(choice);
      BoundCost sum;
      for (const BoundTerm& term : summed) sum.add(term.cost(layout), term.times);
      return sum;
    };
    BoundTable table(std::move(scope), cost);
    if (table.choices(kMostChoices) < kMostChoices) tables_.push_back(std::move(table));
  }
}

void LayoutBound::fill(const std::function<bool()>& stops) {
  std::erase_if(tables_, [&](BoundTable& table) { return !table.fill(stops); });
}

double LayoutBound::seconds(RuleChoice choice) const {
  BoundCost sum;
  std::vector<uint16_t> options;
  for (BoundTable& table : tables_) {
    options.clear();
    for (const size_t d : table.scope().dims) {
      if (choice[d] == kUndecided) break;
      options.push_back(choice[d]);
    }
    sum.add(table.least(options));
  }
  return sum.seconds() + input_->hardware.program_overhead_s;
}

void LayoutBound::add_variables(const Program& program, double parts_of_state) {
  for (const ProgramVariable& variable : program.variables) {
    const TensorType& type = variable.decl.type;
    const double parts = variable.decl.optimizer_state ? parts_of_state : 1;
    lasting_[{view_of(type.dims)}] += static_cast<double>(mtfc::bytes(type)) / parts;
  }
}

void LayoutBound::add_kept_values(const EntryPoint& entry) {
  for (const ValueViews& views : kept_values(entry)) {
    const TensorType& type = entry.values[views.front()].type;
    std::vector<View> forms;
    for (const ValueId id : views) forms.push_back(view_of(entry.values[id].type.dims));
    std::sort(forms.begin(), forms.end());
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    kept_[forms] += static_cast<double>(mtfc::bytes(type));
  }
}

size_t LayoutBound::factor_of(size_t dim, int64_t size) {
  for (size_t f = 0; f < factors_.size(); ++f)
    if (factors_[f].dim == dim && factors_[f].size == size) return f;
  Factor factor{dim, size, {}};
  for (const AxisList& axes : space_.dims()[dim].options) {
    factor.parts.push_back(largest_part(size, space_.fixed().mesh.size(axes)));
    factor.least = std::min(factor.least, factor.parts.back());
  }
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

double LayoutBound::bytes(RuleChoice choice) const {
  return least_of(lasting_, choice) + least_of(kept_, choice);
}

double LayoutBound::least_of(const Amounts& amounts, RuleChoice choice) const {
  double sum = 0;
  for (const auto& [views, amount] : amounts) {
    double least = 1;
    for (const View& view : views) {
      double part = view.part;
      for (const size_t f : view.factors) {
        const uint16_t option = choice[factors_[f].dim];
        part *= option == kUndecided ? factors_[f].least : factors_[f].parts[option];
      }
      least = std::min(least, part);
    }
    sum += amount * least;
  }
  return sum;
}

}  // namespace mtfc
