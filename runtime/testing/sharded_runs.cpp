#include "runtime/testing/sharded_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "core/diagnostics/error.h"
#include "core/graph/op_registry.h"
#include "core/model/check_layout.h"
#include "core/tensors/bf16.h"
#include "core/tensors/relayout.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/executor.h"
#include "runtime/testing/elements.h"

namespace mtfc {
namespace {

void run_once(Executor& executor, const EntryPoint& entry, const WholeTensors& inputs) {
  executor.load(entry);
  for (const Binding& input : entry.inputs)
    for (size_t device = 0; device < executor.devices(); ++device)
      fill_shard(inputs.at(input.name), executor.shard(entry, input.value, device));
  executor.run(entry, 0);
}

void add_dims(Dims& dims, const Attributes& attributes) {
  for (const auto& [name, value] : attributes.entries()) {
    for_each_dim(value, [&](const Dim& dim) { dims = unite(dims, {dim}); });
  }
}

std::vector<TensorId> add_operation(GraphBuilder& b, const std::string& kind,
                                    const std::vector<TensorId>& operands, const Attributes& attributes,
                                    const std::vector<std::string>& names) {
  if (const CompositeDef* composite = find_composite(kind))
    return b.add(*composite, operands, attributes, names);
  return b.add(op_named(kind), operands, attributes, names);
}

}  // namespace

void fill_shard(const WholeTensor& whole, const LocalShard& shard) {
  const Dims& dims = whole.type.dims;
  for (const Run& run : common_runs(dims, whole_box(dims), dims, shard.box))
    for (int64_t k = 0; k < run.length; ++k)
      store_element(shard.data, shard.type.dtype, run.to + k, whole.values[run.from + k]);
}

WholeTensor assembled(const std::string& name, const TensorType& type,
                      const std::vector<LocalShard>& shards) {
  const Dims& dims = type.dims;
  WholeTensor tensor{type, std::vector<double>(static_cast<size_t>(elements(dims)))};
  std::vector<bool> seen(tensor.values.size(), false);
  for (const LocalShard& shard : shards)
    for (const Run& run : common_runs(dims, shard.box, dims, whole_box(dims)))
      for (int64_t k = 0; k < run.length; ++k) {
        const double value = load_element(shard.data, shard.type.dtype, run.from + k);
        const auto at = static_cast<size_t>(run.to + k);
        if (seen[at] && std::bit_cast<uint64_t>(tensor.values[at]) != std::bit_cast<uint64_t>(value))
          throw RunError(fmt::format("'{}' differs between devices at element {}", name, at));
        tensor.values[at] = value;
        seen[at] = true;
      }
  for (const bool found : seen)
    if (!found) throw RunError(fmt::format("'{}' is nowhere complete", name));
  return tensor;
}

WholeTensor drawn(const ExampleOperand& operand, uint64_t seed) {
  std::mt19937_64 random(seed);
  WholeTensor tensor{operand.type, {}};
  for (int64_t i = 0; i < elements(operand.type.dims); ++i) {
    double value = 0;
    switch (operand.fill) {
      case Fill::kNormal:
        value = std::normal_distribution<double>()(random);
        break;
      case Fill::kPositive:
        value = std::uniform_real_distribution<double>(0.5, 2)(random);
        break;
      case Fill::kSteps:
        value = static_cast<double>(random() % 4) - 1;
        break;
      case Fill::kIndex:
        value = static_cast<double>(random() % static_cast<uint64_t>(operand.limit));
        break;
      case Fill::kBool:
        value = static_cast<double>(random() % 2);
        break;
    }
    if (is_integer(operand.type.dtype)) value = std::round(value);
    if (operand.type.dtype == DType::kF32) value = static_cast<float>(value);
    if (operand.type.dtype == DType::kBF16) value = static_cast<float>(Bf16(value));
    tensor.values.push_back(value);
  }
  return tensor;
}

Model model_of(const std::string& kind, const Example& example, bool gradients, WholeTensors& inputs) {
  Model model;
  model.name = kind;
  GraphBuilder b;
  std::vector<TensorId> operands;
  const auto add_input = [&](const std::string& name, const ExampleOperand& operand) {
    b.set_origin({name, {}, Phase::kForward});
    const TensorId id = b.add_input(name, operand.type);
    b.mark_from_model(id);
    model.inputs.push_back({name, operand.type, "", {}});
    model.dims = unite(model.dims, operand.type.dims);
    inputs[name] = drawn(operand, inputs.size() + 1);
    return id;
  };
  for (size_t i = 0; i < example.operands.size(); ++i)
    operands.push_back(add_input(fmt::format("x{}", i), example.operands[i]));
  add_dims(model.dims, example.attributes);
  b.set_origin({"y0", {}, Phase::kForward});
  const std::vector<TensorId> results = add_operation(b, kind, operands, example.attributes, {"y0", "y1"});
  for (const TensorId id : results) {
    b.mark_from_model(id);
    model.outputs.push_back({b.graph().tensor(id).name, id});
    model.dims = unite(model.dims, b.dims(id));
  }
  std::vector<TensorId> differentiated;
  for (const TensorId id : operands)
    if (is_float(b.type(id).dtype)) differentiated.push_back(id);
  TensorId scalar = kNoTensor;  // the weighted sum of all results
  for (size_t i = 0; gradients && i < results.size(); ++i) {
    if (!is_float(b.type(results[i]).dtype)) continue;
    const TensorId weight = add_input(fmt::format("weight{}", i), {b.type(results[i]), Fill::kNormal, 0});
    b.set_origin({"scalar", {}, Phase::kForward});
    TensorId sum = b.op("reduce_sum", {b.op("mul", {results[i], weight})});
    if (b.type(sum).dtype == DType::kBF16) sum = b.op("cast", {sum}, {{"dtype", DType::kF32}});
    scalar = scalar == kNoTensor ? sum : b.op("add", {scalar, sum});
  }
  if (scalar != kNoTensor && !differentiated.empty()) {
    std::vector<std::string> names;
    for (size_t i = 0; i < differentiated.size(); ++i) names.push_back(fmt::format("g{}", i));
    for (const TensorId id : b.add_gradients(scalar, differentiated, names)) {
      b.mark_from_model(id);
      model.outputs.push_back({b.graph().tensor(id).name, id});
    }
  }
  model.graph = std::move(b).build();
  return model;
}

WholeTensors whole_outputs(Executor& executor, const EntryPoint& entry) {
  WholeTensors outputs;
  for (const Binding& output : entry.outputs) {
    std::vector<LocalShard> shards;
    for (size_t device = 0; device < executor.devices(); ++device)
      shards.push_back(executor.shard(entry, output.value, device));
    outputs[output.name] = assembled(output.name, entry.values[output.value].type, shards);
  }
  return outputs;
}

WholeTensors run_in_lockstep(const Program& program, const WholeTensors& inputs) {
  Processes processes = Processes::alone();
  LockstepComm comm(program.mesh(), processes);
  Executor executor(program, comm);
  const EntryPoint& entry = *program.find("evaluate");
  run_once(executor, entry, inputs);
  return whole_outputs(executor, entry);
}

std::string run_and_compare(const Program& program, Comm& comm, const WholeTensors& inputs,
                            const WholeTensors& expected) {
  Executor executor(program, comm);
  const EntryPoint& entry = *program.find("evaluate");
  run_once(executor, entry, inputs);
  for (const Binding& output : entry.outputs)
    for (size_t device = 0; device < executor.devices(); ++device) {
      const LocalShard shard = executor.shard(entry, output.value, device);
      const WholeTensor& whole = expected.at(output.name);
      const Dims& dims = whole.type.dims;
      WholeTensor found = whole;
      for (const Run& run : common_runs(dims, shard.box, dims, whole_box(dims)))
        for (int64_t k = 0; k < run.length; ++k)
          found.values[run.to + k] = load_element(shard.data, shard.type.dtype, run.from + k);
      const std::string problem = difference({{output.name, whole}}, {{output.name, found}});
      if (!problem.empty()) return problem;
    }
  return "";
}

std::vector<Layout> all_rule_sets(const Mesh& mesh, const Dims& dims, bool lists) {
  std::vector<AxisList> choices = {{}};
  const int axes = static_cast<int>(mesh.axes().size());
  for (size_t i = 0; i < choices.size(); ++i)
    for (int axis = 0; axis < axes; ++axis) {
      AxisList longer = choices[i];
      if (std::find(longer.begin(), longer.end(), axis) != longer.end() || (!lists && !longer.empty()))
        continue;
      longer.push_back(axis);
      choices.push_back(longer);
    }
  std::vector<Layout> layouts = {{mesh, {}}};
  for (const Dim& dim : dims) {
    std::vector<Layout> more;
    for (const Layout& layout : layouts)
      for (const AxisList& choice : choices) {
        more.push_back(layout);
        if (!choice.empty()) more.back().rules.push_back({dim.name, choice, {}});
      }
    layouts = std::move(more);
  }
  return layouts;
}

bool is_legal(const Model& model, const Layout& layout) {
  if (!has_plain_rules_only(layout)) {
    try {
      check_layout(model, layout, Annotations(model, layout), true);
      return true;
    } catch (const UserError&) {
      return false;
    }
  }
  for (const Tensor& tensor : model.graph.tensors())
    if (uses_axis_twice(sharding_by_rules(layout, tensor.type.dims))) return false;
  return true;
}

std::string difference(const WholeTensors& expected, const WholeTensors& found) {
  for (const auto& [name, tensor] : expected) {
    const auto at = found.find(name);
    if (at == found.end()) return fmt::format("'{}' is missing", name);
    double largest = 1;
    for (const double value : tensor.values)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    const double allowed = tensor.type.dtype == DType::kF32    ? 1e-5 * largest
                           : tensor.type.dtype == DType::kF64  ? 1e-12 * largest
                           : tensor.type.dtype == DType::kBF16 ? 0x1p-5 * largest
                                                               : 0;
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      const double a = tensor.values[i], b = at->second.values[i];
      if (!(std::abs(a - b) <= allowed) && !(std::isnan(a) && std::isnan(b)) && a != b)
        return fmt::format("'{}' at element {}: expected {}, found {}", name, i, a, b);
    }
  }
  return "";
}

}  // namespace mtfc
