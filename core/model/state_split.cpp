#include "core/model/state_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/diagnostics/suggest.h"
#include "core/model/training.h"

namespace mtfc {
namespace {

AxisList axes_of(const TrainSpec& train, const Mesh& mesh) {
  std::vector<std::string> known;
  for (const Axis& axis : mesh.axes()) known.push_back(axis.name);
  AxisList axes;
  std::vector<Diagnostic> diagnostics;
  for (const std::string& name : train.shard_state_over) {
    const int axis = mesh.find(name);
    std::string hint = did_you_mean(name, known);
    if (hint.empty()) hint = fmt::format("its axes are {}", fmt::join(known, ", "));
    if (axis < 0)
      diagnostics.push_back({train.shard_location, fmt::format("the mesh has no axis '{}'", name), hint});
    else if (mesh.size(axis) > 1)
      axes.push_back(axis);
  }
  if (!diagnostics.empty()) throw UserError(diagnostics);
  return axes;
}

void check_even(const StateSplit& split, const VariableDecl& variable, const Layout& layout,
                const Location& location) {
  const Dims& dims = variable.type.dims;
  Sharding sharding = sharding_by_rules(layout, dims);
  split_state(split, dims, layout.mesh, sharding);
  for (size_t i = 0; i < dims.size(); ++i)
    if (const int64_t parts = layout.mesh.size(sharding.dims[i]); dims[i].size % parts != 0)
      throw UserError(
          {{location,
            fmt::format("dimension '{}' of size {} of the state of '{}' does not divide evenly over "
                        "{} of size {}",
                        dims[i].name, dims[i].size, variable.name, layout.mesh.names(sharding.dims[i]),
                        parts),
            "leave out --no-uneven to allow it"}});
}

}  // namespace

StateSplit state_split(const Model& model, const Layout& layout, bool allow_uneven) {
  StateSplit split;
  if (!model.train || layout.mesh.axes().empty()) return split;
  split.axes = axes_of(*model.train, layout.mesh);
  if (split.axes.empty()) return split;
  for (const VariableDecl& variable : model.variables) {
    if (!variable.trainable) continue;
    if (!allow_uneven) check_even(split, variable, layout, model.train->shard_location);
    split.names.insert(variable.name + "/grad");
    for (const VariableDecl& state : state_of(*model.train, variable)) {
      if (!allow_uneven) check_even(split, state, layout, model.train->shard_location);
      split.names.insert(state.name);
      split.names.insert(state.name + "/init");
    }
  }
  return split;
}

bool is_split_state(const StateSplit& split, const Graph& graph, const Tensor& tensor) {
  if (split.axes.empty()) return false;
  const Origin& origin = *graph.node(tensor.node).origin;
  if (origin.phase == Phase::kUpdate) return true;
  return split.names.count(tensor.name) > 0 || split.names.count(origin.name) > 0;
}

bool leaves_state_to_be_split(const TensorAnnotation& annotation) {
  return annotation.is_inherited || annotation.is_by_rules;
}

void split_state(const StateSplit& split, const Dims& dims, const Mesh& mesh, Sharding& sharding) {
  const AxisList used = split_axes(sharding);
  AxisList axes;
  for (const int axis : split.axes)
    if (!contains(used, axis)) axes.push_back(axis);
  if (axes.empty() || dims.empty()) return;
  const LocalDims local = largest_dims(dims, sharding, mesh);
  size_t best = 0;
  const auto rank = [&](size_t i) {
    return std::tuple(local[i].size >= mesh.size(axes), sharding.dims[i].empty(), local[i].size);
  };
  for (size_t i = 1; i < dims.size(); ++i)
    if (rank(i) > rank(best)) best = i;
  sharding.dims[best].insert(sharding.dims[best].end(), axes.begin(), axes.end());
}

}  // namespace mtfc
