#pragma once
// Tensors that are gathered whole and take a good part of what a step sends: nearly always an annotation or a rule is
// missing. Other systems do this silently.

#include <optional>
#include <vector>

#include "core/explain/explanation.h"

namespace mtfc {

struct CostlyGather {
  ReshardStep reshard;
  int64_t others = 0;            // gathers of the same tensor of other layers
  double share = 0;              // of all bytes that the entry point sends, those others included
  std::optional<Trial> removal;  // the cheapest change of the layout that avoids it, if one was found
};

/// The gathers of tensors over every axis that splits them that send at least 1 MiB and 1 % of all bytes, the largest
/// first. Leaves out updates of weights, and tensors that are annotated to be whole. A change that avoids it is sought
/// for the first three.
std::vector<CostlyGather> costly_gathers(const ExplainedProgram& explained);

}  // namespace mtfc
