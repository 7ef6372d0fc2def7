#pragma once
// The rule sets that a search examines: every way to assign axes of a mesh to dimensions of a model in which
// no tensor has two dimensions over one axis. Fixed rules are in all of them.
//
//   w[io, hidden], bias[hidden] on rows:2   ->   no rules; hidden:rows; io:rows; not both
//
// Rule sets may be mirror images of each other: axes of equal size that are alike to the hardware may change
// places in all rules. Only one of them is needed.

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
  std::vector<std::string> dims;  // the dimensions that may be split; if empty, all
  int64_t most_axes = 2;          // the most axes of one dimension
  bool allow_uneven = true;
  bool decodes = false;  // the entry point `decode` is compiled, too
};

/// A dimension and the ways to split it, axes major first. The first option is not to split it.
struct SearchedDim {
  Dim dim;
  std::vector<AxisList> options;
};

/// For each searched dimension, one of its options.
using RuleChoice = std::span<const uint16_t>;
/// A dimension that is not decided yet.
inline constexpr uint16_t kUndecided = 0xffff;

class SearchSpace {
 public:
  /// Searches neither dimensions of size 1 nor those that no tensor has, and uses no axes of size 1. Throws
  /// UserError if a dimension could be split in more ways than a choice can express.
  SearchSpace(const Model& model, Layout fixed, const Hardware& hardware, const SpaceLimits& limits);

  const Layout& fixed() const { return fixed_; }
  const std::vector<SearchedDim>& dims() const { return dims_; }
  /// The pairs of dimensions that share a tensor, fixed ones included; a dimension that a tensor has also with itself.
  using Pairs = std::set<std::pair<std::string, std::string>>;
  const Pairs& pairs() const { return pairs_; }
  /// True if a legal rule set may have both options, of two dimensions by their positions or of one.
  bool agree(size_t dim, uint16_t option, size_t other, uint16_t other_option) const;
  /// True if the option takes no axis that a fixed rule needs.
  bool is_possible(size_t dim, uint16_t option) const { return (masks_[dim][option] & taken_[dim]) == 0; }
  /// The number of rule sets, legal or not.
  double rule_sets() const;
  /// Visits every legal choice in lexicographic order until `visit` returns false. `is_mirrored` is true if a
  /// mirror image of the choice came before it.
  using Visit = std::function<bool(RuleChoice, bool is_mirrored)>;
  void each(const Visit& visit) const;
  /// True if a mirror image of the choice has an earlier option at the first dimension of `order` where they differ.
  /// Looks no further than the first dimension that is not decided.
  bool has_earlier_mirror(RuleChoice choice, const std::vector<size_t>& order) const;
  /// The first of a complete choice and its mirror images: the one for which has_earlier_mirror() is false.
  std::vector<uint16_t> first_mirror(RuleChoice choice, const std::vector<size_t>& order) const;
  /// The layout with the fixed rules and those of a choice.
  Layout layout(RuleChoice choice) const;

 private:
  class Walk;

  void add_dim(const Dim& dim, const Pairs& pairs, const SpaceLimits& limits);
  void add_mirror(int one, int other);
  /// By dimension: the image of each option.
  using Mirror = std::vector<std::vector<uint16_t>>;
  static bool comes_earlier(const Mirror& mirror, RuleChoice choice, const std::vector<size_t>& order);

  Layout fixed_;
  Pairs pairs_;
  std::vector<SearchedDim> dims_;
  std::vector<std::vector<uint64_t>> masks_;     // by dimension: the axes of each option
  std::vector<std::vector<size_t>> neighbours_;  // by dimension: the earlier ones that share a tensor with it
  std::vector<uint64_t> taken_;                  // by dimension: the axes that fixed rules take
  std::vector<Mirror> mirrors_;
};

/// Groups of axes of `fixed` that may change places, whatever their sizes: those with equal links on hardware
/// to which the order of ranks makes no difference, and named neither by a fixed rule nor by the model.
std::vector<AxisList> alike_axes(const Model& model, const Layout& fixed, const Hardware& hardware);

}  // namespace mtfc
