#pragma once
// The rule sets that a search looks at: every way to give axes of a mesh to dimensions of a model in which no
// tensor has two dimensions over one axis. Rules that are fixed stay in all of them.
//
//   w[io, hidden], bias[hidden] on rows:2   ->   no rules; hidden:rows; io:rows; not both
//
// Of mirror images there is one: axes of equal size that the hardware makes no difference between may change
// places in all rules.

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/hardware.h"
#include "core/model/model.h"
#include "core/tensors/layout.h"

namespace mtfc {

struct SpaceLimits {
  std::vector<std::string> dims;  // that may be split; none: all
  int64_t most_axes = 2;          // of one dimension
  bool allow_uneven = true;
  bool decodes = false;  // the entry point `decode` is compiled too
};

/// A dimension, and how it may be split: first of all not. Axes major first.
struct SearchedDim {
  Dim dim;
  std::vector<AxisList> options;
};

/// For each searched dimension, one of its options.
using RuleChoice = std::span<const uint16_t>;

class SearchSpace {
 public:
  /// Dimensions of size 1 and those that no tensor has are not searched, and axes of size 1 not used. Throws
  /// UserError where a dimension could be split in more ways than a choice can say.
  SearchSpace(const Model& model, Layout fixed, const Hardware& hardware, const SpaceLimits& limits);

  const Layout& fixed() const { return fixed_; }
  const std::vector<SearchedDim>& dims() const { return dims_; }
  /// How many there are, legal or not.
  double rule_sets() const;
  /// Visits every legal choice in lexicographic order until `visit` returns false. It is told whether the
  /// choice has a mirror image that came before it.
  using Visit = std::function<bool(RuleChoice, bool is_mirrored)>;
  void each(const Visit& visit) const;
  /// The fixed rules, and those of a choice.
  Layout layout(RuleChoice choice) const;

 private:
  class Walk;
  using Pairs = std::set<std::pair<std::string, std::string>>;  // dimensions that share a tensor

  void add_dim(const Dim& dim, const Pairs& pairs, const SpaceLimits& limits);
  void add_mirror(int one, int other);
  bool has_earlier_mirror(RuleChoice choice) const;

  Layout fixed_;
  std::vector<SearchedDim> dims_;
  std::vector<std::vector<uint64_t>> masks_;     // by dimension, the axes of each option
  std::vector<std::vector<size_t>> neighbours_;  // by dimension, the earlier ones that share a tensor with it
  std::vector<uint64_t> taken_;                  // by dimension, axes that fixed rules leave no room for
  std::vector<std::vector<std::vector<uint16_t>>> mirrors_;  // by mirror and dimension, where options go
};

/// The axes of `fixed` that may change places, by kind, whatever their sizes: those of equal links on
/// hardware where the order of ranks makes no difference, named by no fixed rule and not by the model.
std::vector<AxisList> alike_axes(const Model& model, const Layout& fixed, const Hardware& hardware);

}  // namespace mtfc
