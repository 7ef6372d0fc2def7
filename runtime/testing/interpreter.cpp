#include "runtime/testing/interpreter.h"

#include <algorithm>

#include "runtime/compute/kernel.h"

namespace mtfc {
namespace {

LocalTensor whole(const TensorType& type) {
  return {type, whole_box(type.dims)};
}

KernelSite site_of(const Graph& graph, const Node& node) {
  KernelSite site{node.attributes, {}, {}, graph.tensor(node.results[0]).name, 0};
  for (const TensorId id : node.operands) site.operands.push_back(whole(graph.type(id)));
  for (const TensorId id : node.results) site.results.push_back(whole(graph.type(id)));
  site.workspace_bytes = kernel_workspace(*node.op, {node.attributes, held_whole(graph.operand_types(node))},
                                          held_whole(graph.result_types(node)))
                             .bytes;
  return site;
}

void run(const Graph& graph, const Node& node, PerTensor<HostTensor>& values,
         const InterpreterOptions& options) {
  const KernelSite site = site_of(graph, node);
  std::vector<std::byte> workspace(static_cast<size_t>(site.workspace_bytes));
  std::vector<const std::byte*> operands;
  std::vector<std::byte*> results;
  for (const TensorId id : node.operands) operands.push_back(values[id].data.data());
  for (const TensorId id : node.results) {
    values[id] = HostTensor(graph.type(id));
    results.push_back(values[id].data.data());
  }
  const Kernel kernel = prepare_kernel(node.op->signature.name, site);
  kernel({operands, results, workspace.data(), options.seed, options.step});
}

std::vector<HostTensor> results_of(const LoopPart& part, const std::vector<HostTensor>& operands,
                                   const InterpreterOptions& options) {
  std::map<TensorId, HostTensor> leaves;
  for (size_t i = 0; i < operands.size(); ++i)
    if (const TensorId leaf = part.graph.find(leaf_name(i)); leaf != kNoTensor)
      leaves.emplace(leaf, operands[i]);
  const PerTensor<HostTensor> values = interpret(part.graph, leaves, options);
  std::vector<HostTensor> results;
  for (const TensorId id : part.results) results.push_back(values[id]);
  return results;
}

void add_to(HostTensor& sum, const HostTensor& value) {
  const TensorType& type = sum.type;
  const Attributes attributes;
  const KernelSite site{attributes, {whole(type), whole(type)}, {whole(type)}, "", 0};
  const std::vector<const std::byte*> operands = {sum.data.data(), value.data.data()};
  const std::vector<std::byte*> results = {sum.data.data()};
  prepare_kernel("add", site)({operands, results});
}

void repeat(const Node& node, PerTensor<HostTensor>& values, const InterpreterOptions& options) {
  const GraphLoop& loop = *node.loop;
  const auto carried = static_cast<std::ptrdiff_t>(loop.carried());
  std::vector<HostTensor> operands, sums;
  for (const TensorId id : node.operands) operands.push_back(values[id]);
  for (size_t i = loop.carried(); i < loop.body.results.size(); ++i)
    sums.emplace_back(loop.body.graph.type(loop.body.results[i]));
  for (int64_t round = 0;
       loop.is_counted() ? round < loop.times : *results_of(loop.condition, operands, options)[0].as<bool>();
       ++round) {
    std::vector<HostTensor> next = results_of(loop.body, operands, options);
    for (size_t i = 0; i < sums.size(); ++i) add_to(sums[i], next[loop.carried() + i]);
    std::move(next.begin(), next.begin() + carried, operands.begin());
  }
  for (size_t i = 0; i < node.results.size(); ++i)
    values[node.results[i]] = std::move(i < loop.carried() ? operands[i] : sums[i - loop.carried()]);
}

}  // namespace

PerTensor<HostTensor> interpret(const Graph& graph, const std::map<TensorId, HostTensor>& leaves,
                                const InterpreterOptions& options) {
  PerTensor<HostTensor> values(graph.tensors().size());
  for (const Node& node : graph.nodes()) {
    switch (node.kind) {
      case NodeKind::kInput:
      case NodeKind::kVariable:
        values[node.results[0]] = leaves.at(node.results[0]);
        break;
      case NodeKind::kOp:
        run(graph, node, values, options);
        break;
      case NodeKind::kLoop:
        repeat(node, values, options);
        break;
      case NodeKind::kComposite:
      case NodeKind::kGradients:
        throw InternalError("the interpreter meets a node that a pass should have expanded");
    }
  }
  return values;
}

}  // namespace mtfc
