#pragma once
// The layouts that a search has found so far, and the best of them in families.
//
// Layouts whose steps differ by less than 1 % count as equally fast, and of those the one with the fewest rules comes
// first. A family is such a layout together with its variants: the equally fast ones that only split more or less, such
// as `batch:rows,positions:cols` beside `batch:rows`, or that only swap axes, such as `rows:4,cols:2 batch:cols` beside
// `rows:2,cols:4 batch:rows`; and those with the same figures.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/cost/cost.h"
#include "core/tensors/layout.h"

namespace mtfc {

struct FoundLayout {
  Layout layout;  // with a device order if that is better on the hardware
  double step_s = 0;
  int64_t memory = 0;  // per device: the largest arena of all entry points
  int64_t sent = 0, flops = 0;
  int64_t equals = 0;      // the number of other compiled layouts with the same figures
  int64_t variants = 0;    // the number of other compiled layouts of the family
  bool is_fitted = false;  // fits only because it computes tensors again
  /// The report covers the entry point that is timed. A layout that does not fit, or was far behind the best, has none.
  std::shared_ptr<const CostReport> report = nullptr;
};

/// The relative difference that sums (bounds and times) may have when they are added up in another order.
inline constexpr double kLayoutRounding = 1e-9;
/// The relative difference up to which steps count as equally fast.
inline constexpr double kEquallyFast = 0.01;

/// Prefers the shorter step, then less memory, then the simpler layout.
bool is_better(const FoundLayout& a, const FoundLayout& b);

class LayoutRanking {
 public:
  explicit LayoutRanking(size_t top) : top_(top) {}

  void add(FoundLayout found);
  /// Finds the best families of the layouts that were added, and drops the reports of layouts far behind them.
  void group();
  /// True if a layout that takes at least `seconds` can't change the best, as they were grouped last.
  bool excludes(double seconds) const {
    return best_.size() == top_ && seconds * (1 - kLayoutRounding) > limit_;
  }
  /// At most `top` families, as they were grouped last: for each the layout with the fewest rules.
  const std::vector<FoundLayout>& best() const { return best_; }
  /// The shortest step of all, which may be that of a variant; 0 if nothing was added.
  double shortest() const;

 private:
  size_t top_;
  double limit_ = 0;
  std::vector<FoundLayout> all_;  // from group() on, the best first
  std::vector<FoundLayout> best_;
};

}  // namespace mtfc
