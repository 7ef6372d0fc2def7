#include "core/model/optimizer.h"

namespace mtfc::momentum_optimizer {
namespace {

std::vector<Slot> slots(const Settings&, const UpdatedVariable& variable) {
  return {{"momentum", variable.type}};
}

std::vector<TensorId> shared(GraphBuilder&, const Settings&, TensorId rate, TensorId) {
  return {rate};
}

std::vector<TensorId> update(GraphBuilder& b, const UpdateInputs& in) {
  const TensorId decay = b.constant(in.settings.at("momentum"), b.type(in.gradient).dtype);
  const TensorId velocity = b.op("add", {b.op("mul", {in.state[1], decay}), in.gradient});
  return {b.op("sub", {in.state[0], b.op("mul", {velocity, in.shared[0]})}), velocity};
}

}  // namespace

extern const OptimizerDef kOptimizer = {
    .name = "momentum",
    .doc = "Gradient descent with momentum: v = momentum * v + gradient, then w - lr * v.",
    .settings = {{"lr", std::nullopt, "learning rate"},
                 {"momentum", 0.9, "the share of v kept from one step to the next"}},
    .slots = slots,
    .shared = shared,
    .update = update,
};

}  // namespace mtfc::momentum_optimizer
