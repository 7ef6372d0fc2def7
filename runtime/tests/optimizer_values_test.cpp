// Values of optimizers' updates, evaluated by the interpreter.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/model/optimizer.h"
#include "runtime/testing/interpreter.h"
#include "runtime/testing/kernel_call.h"

namespace mtfc::optimizer_values_test {
namespace {

/// Returns the variable and its slots, one element each, after one update.
std::vector<double> updated(std::string_view optimizer, const std::map<std::string, double>& settings,
                            const std::vector<double>& state, double gradient) {
  GraphBuilder b;
  const TensorType type{DType::kF64, {{"a", 1}}};
  std::map<TensorId, HostTensor> leaves;
  std::vector<TensorId> ids;
  for (const double value : state) {
    ids.push_back(b.add_variable("w" + std::to_string(ids.size()), type));
    leaves[ids.back()] = value_of(type, {value});
  }
  const TensorId slope = b.add_input("gradient", type);
  leaves[slope] = value_of(type, {gradient});
  const OptimizerDef& def = *find_optimizer(optimizer);
  const TensorId rate = b.constant(settings.at("lr"), DType::kF64);
  const UpdateInputs inputs{settings, def.shared(b, settings, rate, kNoTensor), ids, slope};
  const std::vector<TensorId> results = def.update(b, inputs);
  const PerTensor<HostTensor> values = interpret(std::move(b).build(), leaves);
  std::vector<double> numbers;
  for (const TensorId id : results) numbers.push_back(numbers_of(values[id])[0]);
  return numbers;
}

}  // namespace

TEST_CASE("sgd steps against the gradient") {
  CHECK(updated("sgd", {{"lr", 0.5}}, {3}, 2) == std::vector<double>{2});
}

TEST_CASE("momentum keeps a part of its velocity") {
  const std::map<std::string, double> settings = {{"lr", 0.5}, {"momentum", 0.75}};
  CHECK(updated("momentum", settings, {3, 0}, 2) == std::vector<double>{2, 2});
  CHECK(updated("momentum", settings, {2, 2}, 1) == std::vector<double>{0.75, 2.5});
}

TEST_CASE("adafactor keeps means over the two dimensions that are factored") {
  const OptimizerDef& adafactor = *find_optimizer("adafactor");
  const Dim a{"a", 7}, b{"b", 3}, c{"c", 9};
  const auto slots = [&](const Dims& dims, double beta1, std::optional<FactoredDims> factored) {
    std::string text;
    for (const Slot& slot : adafactor.slots({{"beta1", beta1}}, {{DType::kF32, dims}, factored}))
      text += fmt::format("{} {}; ", slot.name, to_string(slot.type));
    return text;
  };
  CHECK(slots({a, b, c}, 0, FactoredDims{b, c}) ==
        "adafactor_vr f32[a=7, b=3]; adafactor_vc f32[a=7, c=9]; ");
  CHECK(slots({a, b, c}, 0.5, FactoredDims{a, c}) ==
        "adafactor_vr f32[a=7, b=3]; adafactor_vc f32[b=3, c=9]; adafactor_m f32[a=7, b=3, c=9]; ");
  CHECK(slots({a, b}, 0, std::nullopt) == "adafactor_v f32[a=7, b=3]; ");
  CHECK(slots({}, 0, std::nullopt) == "adafactor_v f32[]; ");
}

TEST_CASE("adafactor leaves alone what has no gradient, beside large and tiny ones") {
  const OptimizerDef& adafactor = *find_optimizer("adafactor");
  Settings settings;
  for (const NumberSetting& setting : adafactor.settings)
    settings[std::string(setting.name)] = setting.fallback.value_or(1);
  GraphBuilder b;
  const TensorType type{DType::kF32, {{"a", 2}, {"b", 3}}};
  std::map<TensorId, HostTensor> leaves;
  std::vector<TensorId> state = {b.add_variable("w", type)};
  leaves[state[0]] = value_of(type, {1, 2, 3, 4, 5, 6});
  const FactoredDims factored = {type.dims[0], type.dims[1]};
  for (const Slot& slot : adafactor.slots(settings, {type, factored})) {
    state.push_back(b.add_variable(std::string(slot.name), slot.type));
    leaves[state.back()] = HostTensor(slot.type);
  }
  const TensorId gradient = b.add_input("gradient", type);
  leaves[gradient] = value_of(type, {1e15, 0, 1e-18, 0, 0, 0});
  const TensorId one = b.constant(1, DType::kF64);
  std::vector<TensorId> shared;
  for (const TensorId scalar : adafactor.shared(b, settings, one, one))
    shared.push_back(b.op("cast", {scalar}, {{"dtype", DType::kF32}}));
  const TensorId updated = adafactor.update(b, {settings, shared, state, gradient, true, factored})[0];
  const PerTensor<HostTensor> values = interpret(std::move(b).build(), leaves);
  const std::vector<double> w = numbers_of(values[updated]);
  CHECK(w[0] < 1);
  CHECK(w[1] == 2);
  CHECK(w[2] <= 3);
  CHECK(w[3] == 4);
  CHECK(w[4] == 5);
  CHECK(w[5] == 6);
}

}  // namespace mtfc::optimizer_values_test
