#pragma once
// What adam and adamw have in common: running means of the gradient and of its square, bias-corrected (Kingma
// and Ba 2015, algorithm 1).

#include <vector>

#include "core/model/optimizer.h"

namespace mtfc {

/// `lr`, `beta1`, `beta2`, `eps`.
std::vector<NumberSetting> adam_settings();
/// `adam_m`, `adam_v`: both kinds have the same state, so that a run can change from one to the other.
std::vector<Slot> adam_slots(const Settings& settings, const TensorType& variable);
/// rate / (1 - beta1^t) and 1 / sqrt(1 - beta2^t).
std::vector<TensorId> adam_shared(GraphBuilder& b, const Settings& settings, TensorId rate, TensorId step);

struct AdamMoments {
  TensorId change;  // what the variable is to be lowered by
  TensorId m, v;    // the new state
};
AdamMoments adam_moments(GraphBuilder& b, const UpdateInputs& in);

}  // namespace mtfc
