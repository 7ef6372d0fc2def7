#include "runtime/testing/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/expand_composites.h"
#include "core/model/entry_points.h"
#include "core/rewrite/expand_gradients.h"
#include "core/rewrite/remove_dead.h"
#include "runtime/testing/example_data.h"

namespace mtfc {
namespace {

double largest_of(const std::vector<HostTensor>& values) {
  double largest = 1;
  for (const HostTensor& value : values)
    for (int64_t i = 0; is_float(value.type.dtype) && i < elements(value.type.dims); ++i) {
      const double size = std::abs(element(value, i));
      largest = std::max(largest, std::isnan(size) ? std::numeric_limits<double>::infinity() : size);
    }
  return largest;
}

// The rounding error of a sum depends on the size of its terms, however small the sum is. They are bounded by an
// einsum of the operands' absolute values, which also bounds the intermediate results of any order of operands.
double largest_term_sum(const Graph& graph, const PerTensor<HostTensor>& values) {
  double largest = 1;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOp || node.op->signature.name != "einsum") continue;
    GraphBuilder b;
    std::map<TensorId, HostTensor> sizes;
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) {
      HostTensor value = values[id];
      for (int64_t i = 0; i < elements(value.type.dims); ++i)
        set_element(value, i, std::abs(element(value, i)));
      operands.push_back(b.add_input(fmt::format("x{}", operands.size()), value.type));
      sizes.emplace(operands.back(), std::move(value));
    }
    b.add(*node.op, operands, node.attributes, {"sum"});
    largest = std::max(largest, largest_of(interpret(std::move(b).build(), sizes)));
  }
  return largest;
}

}  // namespace

HostTensor to_host(const WholeTensor& tensor) {
  HostTensor host(tensor.type);
  for (size_t i = 0; i < tensor.values.size(); ++i)
    set_element(host, static_cast<int64_t>(i), tensor.values[i]);
  return host;
}

WholeTensor from_host(const HostTensor& host) {
  WholeTensor tensor{host.type, {}};
  for (int64_t i = 0; i < elements(host.type.dims); ++i) tensor.values.push_back(element(host, i));
  return tensor;
}

EntryGraph plain_entry(EntryGraph entry) {
  entry = expand_composites(std::move(entry));
  entry = expand_gradients(std::move(entry));
  return remove_dead(std::move(entry));
}

ReferenceAnswer reference_answer(const EntryGraph& plain, const WholeTensors& leaves,
                                 const WholeTensors& variables, int64_t step) {
  std::map<TensorId, HostTensor> given;
  for (const Node& node : plain.graph.nodes()) {
    if (!is_leaf(node)) continue;
    const std::string& name = plain.graph.tensor(node.results[0]).name;
    const WholeTensors& from = node.kind == NodeKind::kVariable ? variables : leaves;
    given.emplace(node.results[0], to_host(from.at(name)));
  }
  const PerTensor<HostTensor> values = interpret(plain.graph, given, {0, step});
  ReferenceAnswer answer{{}, variables, std::max(largest_of(values), largest_term_sum(plain.graph, values))};
  const auto value_of = [&](TensorId id) { return from_host(values[id]); };
  for (const NamedTensor& output : plain.outputs) answer.outputs[output.name] = value_of(output.tensor);
  for (const Assignment& assignment : plain.assignments)
    answer.variables[assignment.variable] = value_of(assignment.value);
  return answer;
}

WholeTensors reference_outputs(const Model& model, const WholeTensors& inputs) {
  return reference_answer(plain_entry(entry_named(model, "evaluate", {})), inputs, {}, 0).outputs;
}

}  // namespace mtfc
