#include "runtime/testing/model_json.h"

#include <fmt/format.h>

#include <fstream>

#include "core/graph/operation_text.h"

namespace mtfc {
namespace {

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text);
}

std::string joined(const std::vector<std::string>& parts, const char* open, const char* close,
                   const char* separator = ", ") {
  return fmt::format("{}{}{}", open, fmt::join(parts, separator), close);
}

std::string names(const Dims& dims) {
  std::vector<std::string> list;
  for (const Dim& dim : dims) list.push_back(quoted(dim.name));
  return joined(list, "[", "]");
}

std::string name_of(const Model& model, TensorId id) {
  return model.graph.tensor(id).name;
}

std::string node_text(const Model& model, const Node& node) {
  std::vector<std::string> operands, results;
  for (const TensorId id : node.operands) operands.push_back(name_of(model, id));
  for (const TensorId id : node.results) results.push_back(name_of(model, id));
  if (node.kind != NodeKind::kGradients) {
    const Signature& signature = node.kind == NodeKind::kOp ? node.op->signature : node.composite->signature;
    return operation_text(signature.name, results, operands, node.attributes);
  }
  std::vector<std::string> in, out;
  for (const std::string& name : operands) in.push_back(quoted(name));
  for (const std::string& name : results) out.push_back(quoted(name));
  const std::string of = in[0];
  in.erase(in.begin());
  return fmt::format(R"({{"out": {}, "op": "gradients", "of": {}, "in": {}}})", joined(out, "[", "]"), of,
                     joined(in, "[", "]"));
}

std::string declaration(const std::string& name, const TensorType& type, const std::string& more) {
  return fmt::format(R"("{}": {{"dims": {}, "dtype": "{}"{}}})", name, names(type.dims),
                     to_string(type.dtype), more);
}

// Values are drawn by the tool itself; indices stay in range, and what is positive stays so.
std::string data_of(const Item& item) {
  switch (item.fill) {
    case Fill::kPositive:
      return is_float(item.type.dtype) ? "random:uniform" : "random:int,lo=1,hi=3";
    case Fill::kSteps:
    case Fill::kIndex:
    case Fill::kBool:
      return fmt::format("random:int,lo=0,hi={}", item.indexed.empty() ? "2" : item.indexed);
    case Fill::kNormal:
      break;
  }
  return is_float(item.type.dtype) ? "random:normal" : "random:int,lo=0,hi=2";
}

std::string train_text(const Model& model) {
  std::vector<std::string> axes;
  for (const std::string& axis : model.train->shard_state_over) axes.push_back(quoted(axis));
  return fmt::format(
      "  \"train\": {{\"loss\": \"{}\", \"shard_state_over\": {}, \"optimizer\": {{\"kind\": \"{}\", \"lr\": "
      "0.1}}}},\n",
      name_of(model, model.train->loss), joined(axes, "[", "]"), model.train->optimizer);
}

}  // namespace

std::string model_file(const RandomCase& random_case) {
  WholeTensors leaves;
  const Model model = model_of(random_case, leaves);
  std::vector<std::string> dims, inputs, variables, data, operations, outputs;
  for (const auto& [name, size] : random_case.sizes)
    dims.push_back(fmt::format("{}: {}", quoted(name), size));
  size_t position = 0;
  for (const Node& node : model.graph.nodes()) {
    const Item& item = random_case.items[position++];
    const Tensor& tensor = model.graph.tensor(node.results[0]);
    if (node.kind == NodeKind::kInput) {
      inputs.push_back(declaration(tensor.name, tensor.type, ""));
      data.push_back(fmt::format("{}: {}", quoted(tensor.name), quoted(data_of(item))));
    } else if (node.kind == NodeKind::kVariable) {
      const bool real = is_float(tensor.type.dtype);
      const std::string init = real ? R"(, "init": {"uniform": [-1, 1]})" : R"(, "init": 1)";
      variables.push_back(declaration(tensor.name, tensor.type,
                                      init + (random_case.loss && real ? "" : R"(, "trainable": false)")));
    } else {
      operations.push_back(node_text(model, node));
    }
  }
  for (const Assignment& assignment : model.assignments)
    operations.push_back(fmt::format(R"({{"op": "assign", "variable": "{}", "in": "{}"}})",
                                     assignment.variable, name_of(model, assignment.value)));
  for (const NamedTensor& output : model.outputs) outputs.push_back(quoted(output.name));
  std::string text = fmt::format(
      "{{\n  \"mtfc\": 1,\n  \"name\": \"case_{}\",\n  \"dims\": {},\n  \"inputs\": {},\n  \"variables\": "
      "{},\n  "
      "\"ops\": {},\n",
      random_case.seed, joined(dims, "{", "}"), joined(inputs, "{\n    ", "}", ",\n    "),
      joined(variables, "{\n    ", "}", ",\n    "), joined(operations, "[\n    ", "]", ",\n    "));
  if (model.train) text += train_text(model);
  return text + fmt::format("  \"outputs\": {},\n  \"data\": {}\n}}\n", joined(outputs, "[", "]"),
                            joined(data, "{", "}"));
}

namespace {

// ["p", "q"]
std::string axes_text(const AxisList& axes, const Mesh& mesh) {
  std::vector<std::string> list;
  for (const int axis : axes) list.push_back(quoted(mesh.axes()[static_cast<size_t>(axis)].name));
  return joined(list, "[", "]");
}

}  // namespace

std::string layout_file(const RandomCase& random_case) {
  const Layout layout = layout_of(random_case);
  std::vector<std::string> axes, rules, between, shardings;
  for (const Axis& axis : layout.mesh.axes())
    axes.push_back(fmt::format("{}: {}", quoted(axis.name), axis.size));
  for (const Rule& rule : layout.rules)
    rules.push_back(fmt::format("[{}, {}]", quoted(rule.dim), axes_text(rule.axes, layout.mesh)));
  for (const Rule& rule : layout.between)
    between.push_back(fmt::format("[{}, {}]", quoted(rule.dim), axes_text(rule.axes, layout.mesh)));
  for (const auto& [rule, pattern] : layout.limited_rules)
    rules.push_back(fmt::format("[{}, {}, {{\"in\": {}}}]", quoted(rule.dim),
                                axes_text(rule.axes, layout.mesh), quoted(pattern)));
  for (const Annotation& annotation : layout.annotations) {
    std::vector<std::string> splits;
    for (const Rule& split : annotation.splits)
      splits.push_back(fmt::format("{}: {}", quoted(split.dim), axes_text(split.axes, layout.mesh)));
    shardings.push_back(fmt::format("{}: {}", quoted(annotation.pattern), joined(splits, "{", "}")));
  }
  std::string state;
  if (!layout.state.axes.empty())
    state += fmt::format(",\n  \"shard_state_over\": {}", axes_text(layout.state.axes, layout.mesh));
  if (layout.state.variables) state += ",\n  \"shard_variables\": true";
  if (!layout.state.regather.empty()) state += ",\n  \"regather\": \"**\"";
  if (!layout.rings.empty()) state += ",\n  \"ring\": {\"**\": true}";
  if (!between.empty()) state += ",\n  \"between\": " + joined(between, "[", "]");
  return fmt::format(
      "{{\n  \"mesh\": {},\n  \"rules\": {},\n  \"shardings\": {},\n  \"propagate\": {}{}\n}}\n",
      joined(axes, "{", "}"), joined(rules, "[", "]"), joined(shardings, "{", "}"), layout.propagate, state);
}

std::string saved_case(const RandomCase& random_case, const std::string& folder) {
  const std::string stem = fmt::format("{}/case_{}", folder, random_case.seed);
  const std::string model = stem + ".json", layout = stem + "_layout.json";
  std::ofstream(model) << model_file(random_case);
  std::ofstream(layout) << layout_file(random_case);
  return fmt::format("mtfc verify {} --layout {}", model, layout);
}

}  // namespace mtfc
