#pragma once
// Explains why one layout's step takes longer than another's: the difference of their predicted times by
// item.
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

/// Returns how much longer `other` takes than `best`, by item, the largest difference first; negative items
/// are shorter. They add up to the difference of the steps. `overlap` accounts for kernels that run during
/// collectives: it is negative if more of them do. Both reports must have a time.
std::vector<TimeDifference> time_differences(const CostReport& best, const CostReport& other);

/// `heads whole, batch over rows+cols`: the rules of `other` for dimensions that `best` splits in another
/// way. Both layouts have the same mesh.
std::string rule_differences(const Layout& best, const Layout& other);

}  // namespace mtfc
