#pragma once
// The best layouts that a search has found so far, each with the number of others that cost just the same.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/tensors/layout.h"

namespace mtfc {

struct FoundLayout {
  Layout layout;  // with a device order where the hardware is better off with one
  double step_s = 0;
  int64_t memory = 0;  // bytes a device, of the largest arena of all entry points
  int64_t sent = 0, flops = 0;
  int64_t equals = 0;  // other layouts that were compiled and have the same figures
};

/// Bounds and times are sums, which may differ by so much where they are added up in another order.
inline constexpr double kLayoutRounding = 1e-9;

/// The shorter step, then less memory, then what is simpler to read.
bool is_better(const FoundLayout& a, const FoundLayout& b);

class LayoutRanking {
 public:
  explicit LayoutRanking(size_t top) : top_(top) {}

  /// Of layouts with the same figures the simplest stays.
  void add(FoundLayout found);
  /// Whether a layout that takes at least so long can't be among the best.
  bool excludes(double seconds) const {
    return layouts_.size() == top_ && seconds * (1 - kLayoutRounding) > layouts_.back().step_s;
  }
  /// The best first; at most `top`.
  const std::vector<FoundLayout>& layouts() const& { return layouts_; }
  std::vector<FoundLayout> layouts() && { return std::move(layouts_); }

 private:
  size_t top_;
  std::vector<FoundLayout> layouts_;
};

}  // namespace mtfc
