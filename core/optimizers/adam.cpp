#include "core/model/adam_moments.h"

namespace mtfc::adam_optimizer {
namespace {

std::vector<TensorId> update(GraphBuilder& b, const UpdateInputs& in) {
  const AdamMoments moments = adam_moments(b, in);
  return {b.op("sub", {in.state[0], moments.change}), moments.m, moments.v};
}

}  // namespace

extern const OptimizerDef kOptimizer = {
    .name = "adam",
    .doc =
        "Adam: w - lr * m / (sqrt(v) + eps), with m and v the bias-corrected running means of the gradient "
        "and of its square.",
    .settings = adam_settings(),
    .counts_steps = true,
    .slots = adam_slots,
    .shared = adam_shared,
    .update = update,
};

}  // namespace mtfc::adam_optimizer
