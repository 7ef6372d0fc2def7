#pragma once
// The parts of a program that take time under any layout, each with the dimensions on which it depends. Alike parts,
// such as those of a model's layers, are one term.
//
//   y = einsum(x, w)   depends on batch, io and hidden: the product itself, by its largest shards; and an all_reduce
//                      of y if io is split

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/compile/pipeline.h"
#include "core/cost/least_time.h"
#include "core/model/state_split.h"
#include "core/search/bound_cost.h"
#include "core/search/graph_facts.h"
#include "core/tensors/layout.h"

namespace mtfc {

/// All of it must outlive the terms.
struct BoundInput {
  const std::vector<PreparedModel::Part>& parts;
  const Hardware& hardware;
  const LeastTimes& least;
  StateSplit split;
  DimPairs pairs;
};

struct BoundTerm {
  std::set<std::string> dims;  // the names of those whose rules it depends on
  double times = 1;            // alike ones in a step
  /// A lower bound of the cost of each of them, under a layout that has the rules of `dims`.
  std::function<BoundCost(const Layout&)> cost;
};

std::vector<BoundTerm> bound_terms(const BoundInput& input);

}  // namespace mtfc
