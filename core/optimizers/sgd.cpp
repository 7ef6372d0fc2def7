#include "core/optimizer.h"

namespace mtfc {
namespace {

std::vector<TensorId> update(GraphBuilder& b, const std::map<std::string, double>& settings,
                             const std::vector<TensorId>& state, TensorId gradient) {
  const TensorId rate = b.constant(settings.at("lr"), b.type(gradient).dtype);
  return {b.op("sub", {state[0], b.op("mul", {gradient, rate})})};
}

}  // namespace

extern const OptimizerDef k_sgd_optimizer = {
    .name = "sgd",
    .doc = "Stochastic gradient descent: w - lr * gradient.",
    .settings = {{"lr", std::nullopt, "learning rate"}},
    .slots = {},
    .update = update,
};

}  // namespace mtfc
