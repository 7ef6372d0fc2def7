#pragma once
// For tests: whether a random case gives the same under its layout, on one device and in the interpreter; and
// the smallest case that still does not.

#include <string>

#include "runtime/testing/model_recipe.h"

namespace mtfc {

struct Outcome {
  bool skipped = false;      // the values grow so large that rounding decides
  std::string problem = "";  // "" where all is well
};

/// Runs init, two steps of train and evaluate, on one device and in lockstep under the layout. Compared are
/// the outputs and variables with the interpreter's, copies on several devices with each other to the bit,
/// what was counted with what was predicted, and the use of buffers with the steps.
Outcome try_case(const RandomCase& random_case);

/// The results of training within limits of memory, and where tensors drawn at random are computed again, which must be
/// those without either. Steps may be fused otherwise, so that sums are rounded in another way.
struct LimitOutcome {
  int limits = 0;          // under which something was computed again
  int sets = 0;            // of tensors that were drawn
  std::string fault = "";  // "" where all is well
};
LimitOutcome compare_limits(const RandomCase& random_case);

/// Cuts a failing case down as long as it fails: outputs and assignments, operations, sizes, rules, axes.
RandomCase shrunk(RandomCase failing);

}  // namespace mtfc
