// Values of optimizers' updates, evaluated by the interpreter.

#include <doctest/doctest.h>

#include "core/optimizer.h"
#include "runtime/interpreter.h"
#include "runtime/kernel_call.h"

namespace mtfc {
namespace {

/// The variable and its slots after one update of one element each.
std::vector<double> updated(std::string_view optimizer, const std::map<std::string, double>& settings,
                            const std::vector<double>& state, double gradient) {
  GraphBuilder b;
  const TensorType type{DType::kF64, {{"a", 1}}};
  std::map<TensorId, HostTensor> leaves;
  std::vector<TensorId> ids;
  for (const double value : state) {
    ids.push_back(b.add_variable("w" + std::to_string(ids.size()), type));
    leaves[ids.back()] = tensor_of(type, {value});
  }
  const TensorId slope = b.add_input("gradient", type);
  leaves[slope] = tensor_of(type, {gradient});
  const OptimizerDef& def = *find_optimizer(optimizer);
  const TensorId rate = b.constant(settings.at("lr"), DType::kF64);
  const UpdateInputs inputs{settings, def.shared(b, settings, rate, kNoTensor), ids, slope};
  const std::vector<TensorId> results = def.update(b, inputs);
  const std::vector<HostTensor> values = interpret(std::move(b).build(), leaves);
  std::vector<double> numbers;
  for (const TensorId id : results) numbers.push_back(numbers_of(values[static_cast<size_t>(id)])[0]);
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

}  // namespace mtfc
