#pragma once
// Which operation causes a collective, and which change of the layout removes it. Each proposed change has been
// compiled.
//
// Example: x[batch/rows] is annotated, y = relu(x) is not, and nothing is propagated. Then x is gathered for relu:
//
//   step 3, all_gather of x: [batch/rows, io] -> [batch, io], for relu
//   remove it: add "y": {"batch": "rows"} to "shardings": 0 bytes instead of 4,096

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/explain/explained_program.h"

namespace mtfc {

struct ReshardExplanation {
  ReshardStep reshard;
  /// The other tensors that its step moves together with it, the largest first.
  std::vector<ReshardStep> others;
  LayoutFigures figures;  // of the entry point
  /// The cheapest change that removes the collective, of those under which no device needs more (needs_more()); of all,
  /// if there is none of these.
  std::optional<Trial> removal;
  /// A change that removes it and costs less than both the layout and `removal`, though devices need more: a tensor
  /// that is held whole is never gathered.
  std::optional<Trial> cheaper;
  /// Collectives under `removal` that are new or send more there, the largest first.
  std::vector<ReshardStep> instead;
  size_t tried = 0;  // layouts that were compiled
};

/// How many layouts may be compiled to answer one question.
struct TrialLimits {
  size_t nearest = 32;  // changes near the collective
  size_t further =
      16;  // changes one operation further away, if none near it helps: costs less, and needs no more
  size_t propagated = 16;  // changes near it together with propagation, if none of these does
};

ReshardExplanation explain_reshard(const ExplainedProgram& explained, const ReshardStep& reshard,
                                   const TrialLimits& limits = {});
/// The same for the collective that the step `step` starts or awaits, and for the largest of the tensors that it moves.
/// Throws UserError if it is none.
ReshardExplanation explain_step(const ExplainedProgram& explained, int64_t step);

}  // namespace mtfc
