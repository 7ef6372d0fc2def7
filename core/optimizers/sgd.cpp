#include "core/model/optimizer.h"

namespace mtfc::sgd_optimizer {
namespace {

std::vector<Slot> slots(const Settings&, const UpdatedVariable&) {
  return {};
}

std::vector<TensorId> shared(GraphBuilder&, const Settings&, TensorId rate, TensorId) {
  return {rate};
}

std::vector<TensorId> update(GraphBuilder& b, const UpdateInputs& in) {
  return {b.op("sub", {in.state[0], b.op("mul", {in.gradient, in.shared[0]})})};
}

}  // namespace

extern const OptimizerDef kOptimizer = {
    .name = "sgd",
    .doc = "Stochastic gradient descent: w - lr * gradient.",
    .settings = {{"lr", std::nullopt, "learning rate"}},
    .slots = slots,
    .shared = shared,
    .update = update,
};

}  // namespace mtfc::sgd_optimizer
