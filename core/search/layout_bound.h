#pragma once
// Lower bounds of a layout's time and memory, found without compiling it. No step is shorter than its
// operations at their best rates with the busiest device's share of each dimension. No arena is smaller than
// the variables, the optimizer's state and the values that must be kept while a certain product runs
// (core/passes/steps/kept_values.h).
//
//   x[batch=8, io=4] . w[io=4, hidden=6] with hidden over 4 devices   ->   2*8*4*2 flops / peak

#include <map>
#include <vector>

#include "core/program/program.h"
#include "core/search/search_space.h"

namespace mtfc {

class LayoutBound {
 public:
  /// `program` is the model compiled for one device, `entry` one of its entry points. Only `space` must
  /// outlive the bound.
  LayoutBound(const SearchSpace& space, const Model& model, const Program& program, const EntryPoint& entry,
              const Hardware& hardware);

  double seconds(RuleChoice choice) const { return sum(seconds_, choice); }
  double bytes(RuleChoice choice) const { return sum(bytes_, choice); }

 private:
  /// The fraction of an amount that the fixed rules leave, and the factors by which the options of searched
  /// dimensions reduce it.
  struct View {
    double part = 1;
    std::vector<size_t> factors;  // ascending
    auto operator<=>(const View&) const = default;
  };
  /// Amounts by the views that a value has, for example with and without a renamed dimension; the smallest
  /// counts.
  using Terms = std::map<std::vector<View>, double>;
  /// The fraction of a dimension that the largest shard has, by option.
  struct Factor {
    size_t dim = 0;  // position in the space
    int64_t size = 0;
    std::vector<double> parts;
  };

  double sum(const Terms& terms, RuleChoice choice) const;
  View view_of(const Dims& dims);
  size_t factor_of(size_t dim, int64_t size);
  int64_t state_parts(const Model& model) const;
  void add_operations(const Model& model, const EntryPoint& entry, const Hardware& hardware);
  void add_variables(const Model& model, const Program& program);
  void add_kept_values(const EntryPoint& entry);

  const SearchSpace& space_;
  std::vector<Factor> factors_;
  Terms seconds_, bytes_;
};

}  // namespace mtfc
