#pragma once
// Writes how two layouts of one model differ (core/cost/program_difference.h): in figures, in the shardings of tensors
// and in collectives.

#include <string>
#include <vector>

#include "core/cost/cost.h"
#include "core/cost/layout_difference.h"
#include "core/cost/program_difference.h"

namespace mtfc {

struct ProgramDifference {
  CostReport first, second;
  ShardingDifferences shardings;
  std::vector<CollectiveDifference> collectives;
};

/// Tables of at most `width` characters; the lists of tensors and collectives have at most `most` rows each.
std::string difference_text(const ProgramDifference& difference, size_t width, size_t most);
/// The same as an object, with all rows.
std::string difference_json(const ProgramDifference& difference);
std::string difference_schema();

}  // namespace mtfc
