#pragma once
// Layouts as numbers in a drawing for the terminal, whose axes are those of the HTML page
// (formats/report/page/costs.js).
//
//   4.00 MiB +   [1]
//            |
//   2.00 MiB +              [2]
//            +----+-----------+--
//             1.00 ms     2.00 ms

#include <string>
#include <vector>

#include "core/cost/comparison.h"

namespace mtfc {

/// The shorter the step of a layout, the further left it is, and the less memory it takes, the further down. Its mark
/// is its number in the list, from 1. Layouts at the same place share a mark, and a mark that another one covers moves
/// to a free place beside it. Empty for fewer than two layouts, and for layouts without predicted times.
std::string pareto_picture(const std::vector<ComparedLayout>& layouts, size_t width);

}  // namespace mtfc
