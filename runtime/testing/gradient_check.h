#pragma once
// For tests: the gradients of a whole random graph against finite differences.

#include <string>

#include "runtime/testing/model_recipe.h"

namespace mtfc {

/// The result of a comparison.
struct GradientOutcome {
  int compared = 0;        // directions in which the graph is smooth and both could be compared
  std::string fault = "";  // "" where each gradient is the slope
};

/// For every `gradients` item of the case and every leaf among its tensors: the gradient times a direction,
/// against the change of the scalar along it. Cases with kinks or `stop_gradient` are passed over.
GradientOutcome compare_gradients(const RandomCase& random_case);

}  // namespace mtfc
