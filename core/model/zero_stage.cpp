#include "core/model/zero_stage.h"

#include <algorithm>

namespace mtfc {

std::optional<Dim> batch_dim(const Model& model) {
  for (const InputDecl& input : model.inputs)
    if (!input.type.dims.empty()) return input.type.dims[0];
  return std::nullopt;
}

AxisList batch_axes(const Model& model, const Layout& layout) {
  const std::optional<Dim> batch = batch_dim(model);
  const Rule* rule = batch ? find_rule(layout, batch->name) : nullptr;
  AxisList axes = rule ? rule->axes : AxisList{};
  std::erase_if(axes, [&](int axis) { return layout.mesh.size(axis) == 1; });
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
