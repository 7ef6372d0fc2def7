#include "core/model/adam_moments.h"

namespace mtfc {
namespace {

// beta * old + (1 - beta) * fresh.
TensorId running_mean(GraphBuilder& b, TensorId old, TensorId fresh, double beta) {
  const DType dtype = b.type(old).dtype;
  return b.op("add", {b.op("mul", {old, b.constant(beta, dtype)}),
                      b.op("mul", {fresh, b.constant(1 - beta, dtype)})});
}

// 1 - beta^step.
TensorId bias_correction(GraphBuilder& b, double beta, TensorId step) {
  const TensorId power = b.op("pow", {b.constant(beta, DType::kF64), step});
  return b.op("sub", {b.constant(1, DType::kF64), power});
}

}  // namespace

std::vector<NumberSetting> adam_settings() {
  return {{"lr", std::nullopt, "learning rate"},
          {"beta1", 0.9, "the share of the mean gradient kept from one step to the next",
           SettingRange::kBelowOne},
          {"beta2", 0.999, "the share of the mean square kept from one step to the next",
           SettingRange::kBelowOne},
          {"eps", 1e-8, "added to the root of the mean square", SettingRange::kPositive}};
}

std::vector<Slot> adam_slots(const Settings&, const UpdatedVariable& variable) {
  return {{"adam_m", variable.type}, {"adam_v", variable.type}};
}

std::vector<TensorId> adam_shared(GraphBuilder& b, const Settings& settings, TensorId rate, TensorId step) {
  return {b.op("div", {rate, bias_correction(b, settings.at("beta1"), step)}),
          b.op("rsqrt", {bias_correction(b, settings.at("beta2"), step)})};
}

AdamMoments adam_moments(GraphBuilder& b, const UpdateInputs& in) {
  const TensorId m = running_mean(b, in.state[1], in.gradient, in.settings.at("beta1"));
  const TensorId v = running_mean(b, in.state[2], b.op("square", {in.gradient}), in.settings.at("beta2"));
  const TensorId eps = b.constant(in.settings.at("eps"), b.type(v).dtype);
  const TensorId root = b.op("add", {b.op("mul", {b.op("sqrt", {v}), in.shared[1]}), eps});
  return {b.op("div", {b.op("mul", {m, in.shared[0]}), root}), m, v};
}

}  // namespace mtfc
