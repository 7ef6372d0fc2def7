#pragma once
// The update shared by adam and adamw: running means of the gradient and of its square, bias-corrected
// (Kingma and Ba 2015, algorithm 1).

#include <vector>

#include "core/model/optimizer.h"

namespace mtfc {

/// The settings `lr`, `beta1`, `beta2` and `eps`.
std::vector<NumberSetting> adam_settings();
/// The slots `adam_m` and `adam_v`. Both optimizers have the same state, so a run can change from one to the
/// other.
std::vector<Slot> adam_slots(const Settings& settings, const UpdatedVariable& variable);
/// rate / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) in step t.
std::vector<TensorId> adam_shared(GraphBuilder& b, const Settings& settings, TensorId rate, TensorId step);

struct AdamMoments {
  TensorId change;  // to be subtracted from the variable
  TensorId m, v;    // the new state
};
AdamMoments adam_moments(GraphBuilder& b, const UpdateInputs& in);

}  // namespace mtfc
