#include <algorithm>

#include "core/model/optimizer.h"

namespace mtfc::adafactor_optimizer {
namespace {

TensorType without(const TensorType& type, const Dim& dim) {
  TensorType rest = type;
  std::erase_if(rest.dims, [&](const Dim& other) { return other.name == dim.name; });
  return rest;
}

std::vector<Slot> slots(const Settings& settings, const UpdatedVariable& variable) {
  std::vector<Slot> slots;
  if (variable.factored) {
    slots.push_back({"adafactor_vr", without(variable.type, variable.factored->second)});
    slots.push_back({"adafactor_vc", without(variable.type, variable.factored->first)});
  } else {
    slots.push_back({"adafactor_v", variable.type});
  }
  if (settings.at("beta1") > 0) slots.push_back({"adafactor_m", variable.type});
  return slots;
}

// The rate, the decay min(beta2, 1 - step^-decay_exponent), and 1 - decay.
std::vector<TensorId> shared(GraphBuilder& b, const Settings& settings, TensorId rate, TensorId step) {
  const auto number = [&](double value) { return b.constant(value, DType::kF64); };
  const TensorId power = b.op("pow", {step, number(-settings.at("decay_exponent"))});
  const TensorId fresh = b.op("maximum", {power, number(1 - settings.at("beta2"))});
  return {rate, b.op("sub", {number(1), fresh}), fresh};
}

// One update of a variable. It collects the new slots as they are computed.
class Update {
 public:
  Update(GraphBuilder& builder, const UpdateInputs& inputs) : b_(builder), in_(inputs) {}

  std::vector<TensorId> run() {
    const TensorId unclipped = scaled_gradient();
    const TensorId clipped = b_.op("div", {unclipped, clip_factor(unclipped)});
    TensorId change = b_.op("mul", {clipped, rate()});
    if (const double beta1 = setting("beta1"); beta1 > 0) {
      const TensorId kept = b_.op("mul", {in_.state.back(), number(beta1)});
      change = b_.op("add", {kept, b_.op("mul", {change, number(1 - beta1)})});
      moments_.push_back(change);
    }
    std::vector<TensorId> updated = {b_.op("sub", {in_.state[0], change})};
    updated.insert(updated.end(), moments_.begin(), moments_.end());
    return updated;
  }

 private:
  double setting(const char* name) const { return in_.settings.at(name); }
  TensorId number(double value) { return b_.constant(value, b_.type(in_.gradient).dtype); }
  TensorId mean(TensorId of, const Dims& over) { return b_.op("reduce_mean", {of}, {{"over", over}}); }
  TensorId rms(TensorId of) {
    const Dims all = b_.dims(of);  // a copy: the graph grows
    return b_.op("sqrt", {mean(b_.op("square", {of}), all)});
  }

  // Adds decay * old + (1 - decay) * fresh, the new value of a slot.
  TensorId moment(TensorId old, TensorId fresh) {
    moments_.push_back(
        b_.op("add", {b_.op("mul", {old, in_.shared[1]}), b_.op("mul", {fresh, in_.shared[2]})}));
    return moments_.back();
  }

  // gradient / sqrt(V), with V = vr * vc / mean(vr) if the moments are factored. Roots are taken one at a
  // time: their product may exceed the range of the type when the gradient is 0.
  TensorId scaled_gradient() {
    const TensorId square = b_.op("add", {b_.op("square", {in_.gradient}), number(setting("eps1"))});
    const std::optional<FactoredDims>& factored = in_.factored;
    if (!factored) return b_.op("mul", {in_.gradient, b_.op("rsqrt", {moment(in_.state[1], square)})});
    const TensorId vr = moment(in_.state[1], mean(square, {factored->second}));
    const TensorId vc = moment(in_.state[2], mean(square, {factored->first}));
    const TensorId rows = b_.op("mul", {b_.op("rsqrt", {vr}), b_.op("sqrt", {mean(vr, {factored->first})})});
    return b_.op("mul", {b_.op("mul", {in_.gradient, rows}), b_.op("rsqrt", {vc})});
  }

  // Returns max(1, RMS(update) / clip_threshold).
  TensorId clip_factor(TensorId update) {
    const TensorId part = b_.op("mul", {rms(update), number(1 / setting("clip_threshold"))});
    return b_.op("maximum", {part, number(1)});
  }

  TensorId rate() {
    if (setting("scale_by_parameter") == 0) return in_.shared[0];
    const TensorId size = b_.op("maximum", {rms(in_.state[0]), number(setting("eps2"))});
    return b_.op("mul", {size, in_.shared[0]});
  }

  GraphBuilder& b_;
  const UpdateInputs& in_;
  std::vector<TensorId> moments_;  // new values of the slots
};

std::vector<TensorId> update(GraphBuilder& b, const UpdateInputs& in) {
  return Update(b, in).run();
}

}  // namespace

extern const OptimizerDef kOptimizer = {
    .name = "adafactor",
    .doc =
        "Adafactor (Shazeer and Stern 2018; GShard, appendix A.2): the gradient over the root of its mean "
        "square, which is kept as means over each of two dimensions (`factored`), clipped by its own root "
        "mean square.",
    .settings = {{"lr", std::nullopt, "learning rate"},
                 {"beta1", 0, "the share of the mean update kept from one step to the next; 0 keeps none",
                  SettingRange::kBelowOne},
                 {"beta2", 0.99, "the largest share of the mean square kept from one step to the next",
                  SettingRange::kUpToOne},
                 {"decay_exponent", 0.8, "step t keeps the share 1 - t^-decay_exponent of the mean square",
                  SettingRange::kPositive},
                 {"clip_threshold", 1, "the largest root mean square of an update", SettingRange::kPositive},
                 {"eps1", 1e-30, "added to the square of the gradient", SettingRange::kPositive},
                 {"eps2", 1e-3, "a lower bound on the root mean square of a variable that scales its rate",
                  SettingRange::kNotNegative},
                 {"scale_by_parameter", 0, "1: lr is relative to the root mean square of the variable",
                  SettingRange::kUpToOne},
                 {"least_factored", 128,
                  "the least size of the two dimensions over which means are kept, unless `factored` names "
                  "them",
                  SettingRange::kPositive}},
    .counts_steps = true,
    .factors = true,
    .slots = slots,
    .shared = shared,
    .update = update,
};

}  // namespace mtfc::adafactor_optimizer
