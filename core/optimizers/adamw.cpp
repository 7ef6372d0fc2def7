#include "core/model/adam_moments.h"

namespace mtfc::adamw_optimizer {
namespace {

std::vector<NumberSetting> settings() {
  std::vector<NumberSetting> settings = adam_settings();
  settings.push_back({"weight_decay", 0.01, "a step subtracts this share of a weight, times lr",
                      SettingRange::kNotNegative});
  return settings;
}

// Adam's shared scalars, and 1 - rate * weight_decay.
std::vector<TensorId> shared(GraphBuilder& b, const Settings& settings, TensorId rate, TensorId step) {
  std::vector<TensorId> scalars = adam_shared(b, settings, rate, step);
  const TensorId decay = b.op("mul", {rate, b.constant(settings.at("weight_decay"), DType::kF64)});
  scalars.push_back(b.op("sub", {b.constant(1, DType::kF64), decay}));
  return scalars;
}

std::vector<TensorId> update(GraphBuilder& b, const UpdateInputs& in) {
  const AdamMoments moments = adam_moments(b, in);
  const TensorId kept = in.decays ? b.op("mul", {in.state[0], in.shared[2]}) : in.state[0];
  return {b.op("sub", {kept, moments.change}), moments.m, moments.v};
}

}  // namespace

extern const OptimizerDef kOptimizer = {
    .name = "adamw",
    .doc =
        "Adam with decoupled weight decay (Loshchilov and Hutter 2019): as adam, after w * (1 - lr * "
        "weight_decay).",
    .settings = settings(),
    .decays_weights = true,
    .counts_steps = true,
    .slots = adam_slots,
    .shared = shared,
    .update = update,
};

}  // namespace mtfc::adamw_optimizer
