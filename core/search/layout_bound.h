#pragma once
// Lower bounds of a layout's time and memory, found without compiling it, also where only some of its rules are
// decided.
//
// Time: every kernel takes its operations and its memory traffic with the shards that its dimensions' rules give, and
// every sum over a split dimension must be reduced (core/search/bound_terms.h). No arena is smaller than the variables,
// the optimizer's state and the values that must be kept while a certain product runs
// (core/lower/kept_values.h).
//
//   x[batch=8, io=4] . w[io=4, hidden=6] with hidden over 4 devices   ->   2*8*4*2 flops / peak

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/program/program.h"
#include "core/search/bound_table.h"
#include "core/search/bound_terms.h"
#include "core/search/search_space.h"

namespace mtfc {

class LayoutBound {
 public:
  /// `alone` is the model compiled for one device with the entry point `entry`; `parts` are its graphs. All but
  /// `alone` must outlive the bound.
  LayoutBound(const SearchSpace& space, const Model& model, const Hardware& hardware, const Program& alone,
              const std::vector<PreparedModel::Part>& parts, const std::string& entry);
  LayoutBound(const LayoutBound&) = delete;
  LayoutBound& operator=(const LayoutBound&) = delete;

  /// Computes all that seconds() depends on, unless `stops` says that there is no time for that. The bound is then
  /// lower.
  void fill(const std::function<bool()>& stops);
  /// The dimensions of the space in the order in which they should be decided: those on which most time depends first.
  const std::vector<size_t>& order() const { return order_; }
  /// No legal layout with the decided options of `choice` is faster, or needs less memory. The decided dimensions are
  /// the first ones of order().
  double seconds(RuleChoice choice) const;
  double bytes(RuleChoice choice) const;
  /// The same of memory, if any tensor but variables may be computed again where it is needed.
  double lasting_bytes(RuleChoice choice) const { return least_of(lasting_, choice); }

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
  using Amounts = std::map<std::vector<View>, double>;
  /// The fraction of a dimension that the largest shard has, by option.
  struct Factor {
    size_t dim = 0;  // position in the space
    int64_t size = 0;
    std::vector<double> parts;
    double least = 1;  // of all
  };

  View view_of(const Dims& dims);
  size_t factor_of(size_t dim, int64_t size);
  void find_order(const std::vector<BoundTerm>& terms);
  void add_tables(std::vector<BoundTerm> terms);
  void add_variables(const Program& program, double parts_of_state);
  void add_kept_values(const EntryPoint& entry);
  double least_of(const Amounts& amounts, RuleChoice choice) const;

  const SearchSpace& space_;
  std::unique_ptr<const LeastTimes> least_;
  std::unique_ptr<const BoundInput> input_;
  std::vector<size_t> order_, place_;       // place_: of each dimension of the space in order_
  mutable std::vector<BoundTable> tables_;  // which fill themselves; not by several threads
  std::vector<Factor> factors_;
  Amounts lasting_;  // variables and the state of the optimizer
  Amounts kept_;     // what the backward pass needs of the forward pass
};

}  // namespace mtfc
