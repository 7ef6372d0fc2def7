#include "core/model/check_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace mtfc {
namespace {

std::string kind_of(const Node& node) {
  switch (node.kind) {
    case NodeKind::kInput:
      return "an input";
    case NodeKind::kVariable:
      return "a variable";
    case NodeKind::kGradients:
      return "a gradient";
    case NodeKind::kOp:
      return fmt::format("made by {}", node.op->signature.name);
    case NodeKind::kComposite:
      return fmt::format("made by {}", node.composite->signature.name);
    case NodeKind::kLoop:
      return "made by a loop";
  }
  return "";
}

std::string rule_text(const Layout& layout, const std::string& dim) {
  return to_string(*find_rule(layout, dim), layout.mesh);
}

// A pair of rules that split tensors twice over an axis: the first such tensor, and how many there are. It outlives the
// graph, which may have been made for the check alone, so it refers to nothing in it.
struct Conflict {
  std::string tensor;  // its name
  std::string kind;    // as kind_of() has it
  Location location;
  int axis = 0;
  int64_t tensors = 0;
  bool has_leaf = false;  // an input or a variable is among them
};
using Conflicts = std::map<std::pair<std::string, std::string>, Conflict>;

// Finds axes that two dimensions of a tensor share.
void check_tensor(const Layout& layout, const Tensor& tensor, const Node& node, Conflicts& conflicts) {
  const Sharding sharding = sharding_by_rules(layout, tensor.type.dims);
  for (size_t i = 0; i < sharding.dims.size(); ++i)
    for (size_t j = i + 1; j < sharding.dims.size(); ++j) {
      const AxisList &one = sharding.dims[i], &two = sharding.dims[j];
      const auto shared = std::find_first_of(one.begin(), one.end(), two.begin(), two.end());
      if (shared == one.end()) continue;
      Conflict& conflict = conflicts[std::minmax(tensor.type.dims[i].name, tensor.type.dims[j].name)];
      if (conflict.tensors++ == 0) conflict = {tensor.name, kind_of(node), node.origin->location, *shared, 1};
      conflict.has_leaf = conflict.has_leaf || is_leaf(node);
    }
}

void check_graph(const Layout& layout, const Graph& graph, Conflicts& conflicts) {
  for (const Tensor& tensor : graph.tensors()) {
    const Node& node = graph.node(tensor.node);
    if (!tensor.annotation && (is_leaf(node) || !layout.propagate))
      check_tensor(layout, tensor, node, conflicts);
  }
  for (const Node& node : graph.nodes())
    if (node.loop)
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body})
        check_graph(layout, part->graph, conflicts);
}

Diagnostic diagnostic_of(const Layout& layout, const std::pair<std::string, std::string>& dims,
                         const Conflict& conflict) {
  const std::string more = conflict.tensors == 1 ? ""
                                                 : fmt::format(", and {} more tensor{}", conflict.tensors - 1,
                                                               conflict.tensors == 2 ? "" : "s");
  return {conflict.location,
          fmt::format("the rules {} and {} split tensor '{}', {}{}, twice over the same axis '{}'",
                      rule_text(layout, dims.first), rule_text(layout, dims.second), conflict.tensor,
                      conflict.kind, more, layout.mesh.axes()[static_cast<size_t>(conflict.axis)].name),
          fmt::format("give '{}' or '{}' another axis{}", dims.first, dims.second,
                      conflict.has_leaf
                          ? ", or leave one of them whole"
                          : ", leave one of them whole, or choose one for each result with --propagate")};
}

void check_even(const Model& model, const Mesh& mesh, const Rule& rule, const AxisList& axes,
                std::vector<Diagnostic>& diagnostics) {
  const int64_t size = model.dims[static_cast<size_t>(position(model.dims, rule.dim))].size;
  const int64_t parts = mesh.size(axes);
  if (size % parts == 0) return;
  diagnostics.push_back({rule.location,
                         fmt::format("dimension '{}' of size {} does not divide evenly over {} of size {}",
                                     rule.dim, size, mesh.names(axes), parts),
                         "leave out --no-uneven to allow it"});
}

}  // namespace

void check_layout(const Model& model, const Layout& layout, const Annotations& annotations, bool allow_uneven,
                  bool decodes) {
  check_rules(layout, model.dims);
  std::vector<Diagnostic> diagnostics;
  Conflicts conflicts;
  if (annotations.empty()) {
    check_graph(layout, model.graph, conflicts);
    if (decodes) check_graph(layout, model.decode->graph, conflicts);
  } else {
    check_graph(layout, annotations.applied({"train", model.graph, {}, {}}).graph, conflicts);
    if (decodes)
      check_graph(layout, annotations.applied({"decode", model.decode->graph, {}, {}}).graph, conflicts);
  }
  for (const auto& [dims, conflict] : conflicts) diagnostics.push_back(diagnostic_of(layout, dims, conflict));
  if (!allow_uneven) {
    for (const Rule& rule : layout.rules) check_even(model, layout.mesh, rule, rule.axes, diagnostics);
    for (const Rule& rule : layout.between) {
      AxisList axes = rule.axes;
      if (const Rule* other = find_rule(layout, rule.dim))
        axes.insert(axes.end(), other->axes.begin(), other->axes.end());
      check_even(model, layout.mesh, rule, axes, diagnostics);
    }
    annotations.check_even(layout.mesh, diagnostics);
  }
  if (!diagnostics.empty()) throw UserError(diagnostics);
}

}  // namespace mtfc
