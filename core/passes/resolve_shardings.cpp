#include "core/passes/resolve_shardings.h"

#include <fmt/format.h>

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
  }
  return "";
}

std::string rule_text(const Layout& layout, const std::string& dim) {
  return fmt::format("{}:{}", dim, layout.mesh.names(find_rule(layout, dim)->axes));
}

// The first axis that two dimensions of a tensor share, as a diagnostic.
void check_tensor(const Layout& layout, const Tensor& tensor, const Node& node,
                  std::vector<Diagnostic>& diagnostics) {
  const Sharding sharding = sharding_by_rules(layout, tensor.type.dims);
  for (size_t i = 0; i < sharding.dims.size(); ++i)
    for (size_t j = i + 1; j < sharding.dims.size(); ++j)
      for (const int axis : sharding.dims[i])
        for (const int other : sharding.dims[j]) {
          if (axis != other) continue;
          const std::string &a = tensor.type.dims[i].name, &b = tensor.type.dims[j].name;
          diagnostics.push_back(
              {node.origin.location,
               fmt::format(
                   "the layout splits '{}' and '{}' of tensor '{}', {}, over the same axis '{}' (rules {} "
                   "and {})",
                   a, b, tensor.name, kind_of(node), layout.mesh.axes()[static_cast<size_t>(axis)].name,
                   rule_text(layout, a), rule_text(layout, b)),
               "give one of them another axis, or leave it whole"});
          return;
        }
}

}  // namespace

void check_layout(const Model& model, const Layout& layout, bool allow_uneven) {
  check_rules(layout, model.dims);
  std::vector<Diagnostic> diagnostics;
  for (const Tensor& tensor : model.graph.tensors())
    check_tensor(layout, tensor, model.graph.nodes()[static_cast<size_t>(tensor.node)], diagnostics);
  for (const Rule& rule : layout.rules) {
    const int64_t size = model.dims[static_cast<size_t>(position(model.dims, rule.dim))].size;
    const int64_t parts = layout.mesh.size(rule.axes);
    if (!allow_uneven && size % parts != 0)
      diagnostics.push_back(
          {rule.location,
           fmt::format("dimension '{}' of size {} does not divide evenly over {} of size {}", rule.dim, size,
                       layout.mesh.names(rule.axes), parts),
           "--no-uneven forbids it"});
  }
  if (!diagnostics.empty()) throw UserError(diagnostics);
}

std::vector<Sharding> resolve_shardings(const EntryGraph& entry, const Layout& layout) {
  std::vector<Sharding> shardings;
  for (const Tensor& tensor : entry.graph.tensors()) {
    Sharding sharding = sharding_by_rules(layout, tensor.type.dims);
    std::set<int> used;
    for (AxisList& axes : sharding.dims)
      std::erase_if(axes, [&](int axis) { return layout.mesh.size(axis) == 1 || !used.insert(axis).second; });
    shardings.push_back(std::move(sharding));
  }
  return shardings;
}

}  // namespace mtfc
