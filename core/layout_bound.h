#pragma once
// What a layout costs at the least, without compiling it: no step is shorter than its products at peak with
// the busiest device's share of each dimension, and no arena smaller than the variables and the optimizer's
// state in their shards.
//
//   x[batch=8, io=4] . w[io=4, hidden=6] with hidden over 4 devices   ->   2*8*4*2 flops / peak

#include <vector>

#include "core/program.h"
#include "core/search_space.h"

namespace mtfc {

class LayoutBound {
 public:
  /// `entry` is one of `program`, the model compiled under the fixed rules of `space`.
  LayoutBound(const SearchSpace& space, const Model& model, const Program& program, const EntryPoint& entry,
              const Hardware& hardware);

  double seconds(RuleChoice choice) const { return sum(seconds_, choice); }
  double bytes(RuleChoice choice) const { return sum(bytes_, choice); }

 private:
  /// An amount of the fixed rules, of which the factors are left by the options of searched dimensions.
  struct Term {
    double amount = 0;
    std::vector<size_t> factors;  // ascending
  };
  /// The largest shard's part of a dimension, by option.
  struct Factor {
    size_t dim = 0;  // of the space
    int64_t size = 0;
    std::vector<double> parts;
  };

  double sum(const std::vector<Term>& terms, RuleChoice choice) const;
  void add(std::vector<Term>& terms, double amount, const Dims& dims);
  size_t factor_of(size_t dim, int64_t size);

  const SearchSpace& space_;
  std::vector<Factor> factors_;
  std::vector<Term> seconds_, bytes_;
};

}  // namespace mtfc
