#pragma once
// Why one layout's step takes longer than another's: the difference of their predicted times, item by item.
//
//   267 ms and 272 ms   ->   products +6.1 ms, all_reduce over cols -1.5 ms, overlap +0.4 ms

#include <string>
#include <vector>

#include "core/cost/cost.h"

namespace mtfc {

struct TimeDifference {
  std::string what;  // `products`, `other kernels`, `all_reduce over cols`, `overlap`
  double seconds = 0;
};

/// What `other` takes longer than `best`, or negative: less, the largest difference first. They add up to the
/// difference of the steps: `overlap` is negative, or positive, as more or fewer kernels run beside
/// collectives. Both reports have a time.
std::vector<TimeDifference> time_differences(const CostReport& best, const CostReport& other);

/// `heads whole, batch over rows+cols`: what `other` does with dimensions that `best` splits in another way.
/// Both are of one mesh.
std::string rule_differences(const Layout& best, const Layout& other);

}  // namespace mtfc
