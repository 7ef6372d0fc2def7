#include "core/model/state_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/diagnostics/suggest.h"
#include "core/model/model_graphs.h"
#include "core/model/training.h"
#include "core/tensors/name_pattern.h"

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

AxisList without_single(const AxisList& axes, const Mesh& mesh) {
  AxisList longer;
  for (const int axis : axes)
    if (mesh.size(axis) > 1) longer.push_back(axis);
  return longer;
}

std::set<std::string, std::less<>> regathered(const Model& model, const Layout& layout) {
  std::set<std::string, std::less<>> matched;
  std::vector<std::string> names;
  for (const VariableDecl& variable : model.variables) names.push_back(variable.name);
  std::vector<Diagnostic> diagnostics;
  for (const auto& [pattern, location] : layout.state.regather) {
    bool found = false;
    for (const std::string& name : names)
      if (matches_name(pattern, name)) {
        matched.insert(name);
        found = true;
      }
    if (!found)
      diagnostics.push_back(
          {location, fmt::format("'{}' matches no variable", pattern), did_you_mean(pattern, names)});
  }
  if (!diagnostics.empty()) throw UserError(diagnostics);
  return matched;
}

// True if the annotation gives the whole sharding. What a tensor has from its variable, or from rules, leaves the other
// axes to be used.
bool is_complete(const TensorAnnotation* annotation) {
  return annotation && !annotation->is_inherited && !annotation->is_by_rules;
}

}  // namespace

StateSplit state_split(const Model& model, const Layout& layout, bool of_microbatches) {
  StateSplit split;
  // An evaluation alone has no optimizer, but ZeRO splits its variables. Generation holds them whole.
  const bool only_evaluates = model.is_reduced && !model.decode && !layout.state.axes.empty();
  if ((!model.train && !only_evaluates) || layout.mesh.axes().empty()) return split;
  split.regathered = regathered(model, layout);
  split.axes = layout.state.axes.empty() ? axes_of(*model.train, layout.mesh)
                                         : without_single(layout.state.axes, layout.mesh);
  if (split.axes.empty()) return split;
  std::map<std::string, TensorId, std::less<>> rounded;
  if (model.train) rounded = masters(model.graph);
  for (const VariableDecl& variable : model.variables) {
    if (!variable.trainable) continue;
    split.names.insert(variable.name + "/grad");
    if (of_microbatches && layout.state.gradients) split.names.insert(variable.name + kMicrobatchGradient);
    if (layout.state.variables || rounded.contains(variable.name)) {
      split.names.insert(variable.name);
      split.names.insert(variable.name + "/init");
    }
    if (layout.state.variables) split.names.insert(variable.name + kHeldCopy);
    if (split.regathered.contains(variable.name)) split.regathered.insert(variable.name + kHeldCopy);
    if (!model.train) continue;
    for (const VariableDecl& state : state_of(*model.train, variable)) {
      split.names.insert(state.name);
      split.names.insert(state.name + "/init");
    }
  }
  return split;
}

void check_even(const StateSplit& split, const Model& model, const Layout& layout,
                const Annotations& annotations) {
  if (split.axes.empty()) return;
  const auto check = [&](const std::string& name, const Dims& dims) {
    const SharedAnnotation annotation = annotations.of_variable(name);
    if (is_complete(annotation.get())) return;
    const Sharding sharding = stated_sharding(layout, annotation.get(), dims, split, true);
    for (size_t d = 0; d < dims.size(); ++d)
      if (const AxisList& axes = sharding.dims[d]; dims[d].size % layout.mesh.size(axes) != 0)
        throw UserError(
            {{layout.state.axes.empty() ? model.train->shard_location : layout.state.location,
              fmt::format("dimension '{}' of size {} of '{}' does not divide evenly over {} of size {}",
                          dims[d].name, dims[d].size, name, layout.mesh.names(axes), layout.mesh.size(axes)),
              "leave out --no-uneven to allow it"}});
  };
  for (const VariableDecl& variable : model.variables) {
    if (!variable.trainable) continue;
    if (layout.state.variables) check(variable.name, variable.type.dims);
    if (!model.train) continue;
    check(variable.name + "/grad", variable.type.dims);
    for (const VariableDecl& state : state_of(*model.train, variable)) check(state.name, state.type.dims);
  }
}

bool is_split_state(const StateSplit& split, const Graph& graph, const Tensor& tensor) {
  if (split.axes.empty()) return false;
  const Origin& origin = *graph.node(tensor.node).origin;
  if (origin.phase == Phase::kUpdate) return true;
  return is_split_state(split, tensor.name) || is_split_state(split, origin.name);
}

bool is_split_state(const StateSplit& split, const std::string& name) {
  return !split.axes.empty() && split.names.contains(name);
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

Sharding stated_sharding(const Layout& layout, const TensorAnnotation* annotation, const Dims& dims,
                         const StateSplit& split, bool is_state) {
  Sharding sharding = annotation ? annotation->sharding : legal_sharding_by_rules(layout, dims);
  if (is_state && !is_complete(annotation)) split_state(split, dims, layout.mesh, sharding);
  return sharding;
}

Sharding rule_sharding(const Graph& graph, const Tensor& tensor, const Layout& layout,
                       const StateSplit& split) {
  return stated_sharding(layout, nullptr, tensor.type.dims, split, is_split_state(split, graph, tensor));
}

}  // namespace mtfc
