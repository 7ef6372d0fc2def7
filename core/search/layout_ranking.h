#pragma once
// The best layouts that a search has found so far, each with the number of others of the same cost.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/tensors/layout.h"

namespace mtfc {

struct FoundLayout {
  Layout layout;  // with a device order if that is better on the hardware
  double step_s = 0;
  int64_t memory = 0;  // per device: the largest arena of all entry points
  int64_t sent = 0, flops = 0;
  int64_t equals = 0;  // the number of other compiled layouts with the same figures
};

/// The relative difference that sums (bounds and times) may have when they are added up in another order.
inline constexpr double kLayoutRounding = 1e-9;

/// Prefers the shorter step, then less memory, then the simpler layout.
bool is_better(const FoundLayout& a, const FoundLayout& b);

class LayoutRanking {
 public:
  explicit LayoutRanking(size_t top) : top_(top) {}

  /// Adds a layout; of layouts with the same figures, only the simplest stays.
  void add(FoundLayout found);
  /// True if a layout that takes at least `seconds` can't be among the best.
  bool excludes(double seconds) const {
    return layouts_.size() == top_ && seconds * (1 - kLayoutRounding) > layouts_.back().step_s;
  }
  /// At most `top` layouts, the best first.
  const std::vector<FoundLayout>& layouts() const& { return layouts_; }
  std::vector<FoundLayout> layouts() && { return std::move(layouts_); }

 private:
  size_t top_;
  std::vector<FoundLayout> layouts_;
};

}  // namespace mtfc
