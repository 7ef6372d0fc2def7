#pragma once
// For tests: random models with random layouts.
//
// Values stay bounded and comparisons see small integers only, so that a difference between two runs is a
// fault and not rounding. The same seed gives the same case.

#include <cstdint>

#include "runtime/testing/model_recipe.h"

namespace mtfc {

/// Three to about twenty operations under a legal layout.
RandomCase random_case(uint64_t seed);
/// The same, with annotations, and perhaps propagated.
RandomCase annotated_case(uint64_t seed);

}  // namespace mtfc
