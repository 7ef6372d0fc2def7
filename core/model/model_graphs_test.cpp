#include "core/model/model_graphs.h"

#include <doctest/doctest.h>

#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"

namespace mtfc::model_graphs_test {
namespace {

const Dims kDims = dims_of("batch=5");

// Delivers `y`, adds its elements up as the loss, and assigns it to a variable. `y` is `made_of` the input, in `dtype`.
Model model_of(std::string_view made_of, DType dtype = DType::kF32) {
  Model model;
  model.inputs = {{"x", {DType::kF32, kDims}, "", {}}};
  model.variables = {{"seen", {DType::kF32, kDims}, Init{}, false, false, {}}};
  GraphBuilder b;
  const TensorId x = b.add_input("x", model.inputs[0].type);
  b.add_variable("seen", model.variables[0].type);
  const TensorId y = b.cast(b.add(op_named(made_of), {x}, {}, {"y"})[0], dtype);
  model.train = TrainSpec{b.op("reduce_sum", {y}), "sgd", {}};
  model.outputs = {{"y", y}};
  model.assignments = {{"seen", b.cast(y, DType::kF32), {}}};
  model.graph = std::move(b).build();
  return model;
}

}  // namespace

TEST_CASE("a pass over models may change dtypes, and what makes its outputs") {
  const Model model = model_of("square");
  CHECK(model_problem(model, model_of("relu", DType::kBF16)).empty());
  Model without_training = model;
  without_training.train.reset();
  CHECK(model_problem(model, without_training).empty());
}

TEST_CASE("a pass over models leaves leaves and assignments as they are declared, and all outputs in place") {
  const Model model = model_of("square");
  Model faulty = model;
  faulty.variables[0].type.dtype = DType::kI8;
  CHECK(model_problem(model, faulty) == "no leaf 'seen' of type f32[batch=5] is declared");
  faulty = model_of("square", DType::kBF16);
  faulty.assignments[0].value = faulty.outputs[0].tensor;
  CHECK(model_problem(model, faulty) == "'seen' is assigned a tensor of another dtype");
  faulty = model;
  faulty.outputs[0].tensor = faulty.train->loss;
  CHECK(model_problem(model, faulty) == "the output 'y' has become 'y' of type f32[]");
  faulty = model;
  faulty.outputs.clear();
  CHECK(model_problem(model, faulty) == "there were 2 outputs, and now there are 1");
}

TEST_CASE("the graphs of a model give their tensors back to it") {
  Model model = model_of("square");
  const Model same = model;
  std::vector<EntryGraph> graphs = graphs_of(model);
  CHECK(graphs[0].outputs.back().name.empty());
  std::swap(graphs[0].outputs[0].tensor, graphs[0].outputs[1].tensor);
  set_graphs(model, std::move(graphs));
  CHECK(model.outputs[0].tensor == same.train->loss);
  CHECK(model.train->loss == same.outputs[0].tensor);
  CHECK(model.assignments[0].value == same.assignments[0].value);
}

}  // namespace mtfc::model_graphs_test
