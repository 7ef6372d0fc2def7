#include "core/optimizer.h"

namespace mtfc {
namespace {

std::vector<TensorId> update(GraphBuilder& b, const std::map<std::string, double>& settings,
                             const std::vector<TensorId>& state, TensorId gradient) {
  const DType dtype = b.type(gradient).dtype;
  const TensorId rate = b.constant(settings.at("lr"), dtype);
  const TensorId decay = b.constant(settings.at("momentum"), dtype);
  const TensorId velocity = b.op("add", {b.op("mul", {state[1], decay}), gradient});
  return {b.op("sub", {state[0], b.op("mul", {velocity, rate})}), velocity};
}

}  // namespace

extern const OptimizerDef k_momentum_optimizer = {
    .name = "momentum",
    .doc = "Gradient descent with momentum: v = momentum * v + gradient, then w - lr * v.",
    .settings = {{"lr", std::nullopt, "learning rate"},
                 {"momentum", 0.9, "how much of v stays from one step to the next"}},
    .slots = {"momentum"},
    .update = update,
};

}  // namespace mtfc
