#include "core/model/zero_stage.h"

#include <algorithm>

namespace mtfc {
namespace {

// The first input that has dimensions, or nullptr.
const InputDecl* input_with_batch(const Model& model) {
  const auto has_any = [](const InputDecl& input) { return !input.type.dims.empty(); };
  const auto first = std::find_if(model.inputs.begin(), model.inputs.end(), has_any);
  return first == model.inputs.end() ? nullptr : &*first;
}

}  // namespace

std::optional<Dim> batch_dim(const Model& model) {
  const InputDecl* input = input_with_batch(model);
  return input ? std::optional(input->type.dims[0]) : std::nullopt;
}

Dims data_dims(const Model& model) {
  Dims dims;
  const InputDecl* input = input_with_batch(model);
  if (!input) return dims;
  for (const Dim& dim : input->type.dims) {
    const auto has_it = [&](const VariableDecl& variable) { return contains(variable.type.dims, dim.name); };
    if (dims.empty() || std::none_of(model.variables.begin(), model.variables.end(), has_it))
      dims.push_back(dim);
  }
  return dims;
}

AxisList data_axes(const Model& model, const Layout& layout) {
  AxisList axes;
  for (const Dim& dim : data_dims(model)) {
    const Rule* rule = find_rule(layout, dim.name);
    if (!rule) continue;
    for (const int axis : rule->axes)
      if (layout.mesh.size(axis) > 1 && !contains(axes, axis)) axes.push_back(axis);
  }
  return axes;
}

Layout with_zero_stage(Layout layout, const AxisList& axes, int stage) {
  if (stage == 0 || axes.empty()) return layout;
  layout.state.axes = axes;
  layout.state.gradients = stage > 1;
  if (stage == 3) {
    layout.state.variables = true;
    layout.state.regather.push_back({"**", {}});
  }
  return layout;
}

}  // namespace mtfc
