#include "core/testing/test_model.h"

#include "core/compile/pipeline.h"
#include "core/graph/op_registry.h"

namespace mtfc {

Dims TestModel::dims(const std::vector<std::string>& names) const {
  Dims dims;
  for (const std::string& name : names)
    dims.push_back(model_.dims.at(static_cast<size_t>(position(model_.dims, name))));
  return dims;
}

TensorId TestModel::input(const std::string& name, const Dims& dims, DType dtype) {
  model_.dims = unite(model_.dims, dims);
  model_.inputs.push_back({name, {dtype, dims}, "", {}});
  return named(name, b_.add_input(name, {dtype, dims}));
}

TensorId TestModel::variable(const std::string& name, const Dims& dims, bool trainable) {
  model_.dims = unite(model_.dims, dims);
  model_.variables.push_back({name, {DType::kF32, dims}, Init{}, trainable, false, {}});
  return named(name, b_.add_variable(name, {DType::kF32, dims}));
}

TensorId TestModel::op(const std::string& name, std::string_view kind, const std::vector<TensorId>& operands,
                       const Attributes& attributes) {
  b_.set_origin({name, {}, Phase::kForward});
  return named(name, b_.op(kind, operands, attributes));
}

TensorId TestModel::composite(const std::string& name, std::string_view kind,
                              const std::vector<TensorId>& operands, const Attributes& attributes) {
  b_.set_origin({name, {}, Phase::kForward});
  return named(name, b_.add(*find_composite(kind), operands, attributes)[0]);
}

TensorId TestModel::gradient(const std::string& name, TensorId of, TensorId in) {
  return named(name, b_.add_gradients(of, {in}, {name})[0]);
}

Model TestModel::finished() {
  model_.graph = std::move(b_).build();
  return std::move(model_);
}

Program TestModel::compiled(const Mesh& mesh, const std::vector<std::pair<std::string, AxisList>>& rules) {
  Layout layout{mesh, {}};
  for (const auto& [dim, axes] : rules) layout.rules.push_back({dim, axes, {}});
  return compile(finished(), layout, {});
}

TensorId TestModel::named(const std::string& name, TensorId id) {
  b_.name(id, name);
  return id;
}

}  // namespace mtfc
