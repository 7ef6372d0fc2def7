#include "runtime/testing/model_recipe.h"

#include <fmt/format.h>

#include "core/graph/op_registry.h"
#include "core/model/training.h"

namespace mtfc {
namespace {

// The attribute with the sizes that its dimensions have now.
AttributeValue resized(AttributeValue value, const std::map<std::string, int64_t>& sizes) {
  for_each_dim(value, [&](Dim& dim) { dim.size = sizes.at(dim.name); });
  return value;
}

Attributes resized(const Attributes& attributes, const std::map<std::string, int64_t>& sizes) {
  Attributes result;
  for (const auto& [name, value] : attributes.entries()) result.set(name, resized(value, sizes));
  return result;
}

TensorType resized(TensorType type, const std::map<std::string, int64_t>& sizes) {
  for (Dim& dim : type.dims) dim.size = sizes.at(dim.name);
  return type;
}

void add_used_dims(Dims& dims, const Item& item, const std::map<std::string, int64_t>& sizes) {
  const Attributes attributes = resized(item.attributes, sizes);
  for (const auto& [name, value] : attributes.entries()) {
    if (!std::holds_alternative<std::vector<Renaming>>(value))
      for_each_dim(value, [&](const Dim& dim) { dims = unite(dims, {dim}); });
  }
}

void add_leaf_to(Model& model, const Item& item, const Tensor& tensor, const RandomCase& from,
                 WholeTensors& leaves) {
  const int64_t limit = item.indexed.empty() ? 1 : from.sizes.at(item.indexed);
  leaves[tensor.name] = drawn({tensor.type, item.fill, limit}, from.seed + leaves.size());
  if (item.kind == "input") {
    model.inputs.push_back({tensor.name, tensor.type, "", {}});
    return;
  }
  const bool is_real = is_float(tensor.type.dtype);
  VariableDecl variable{tensor.name, tensor.type, Init{}, from.loss && is_real, false, {}};
  if (is_real) variable.init = Init{InitKind::kUniform, -1, 1};
  model.variables.push_back(std::move(variable));
}

}  // namespace

bool is_leaf(const Item& item) {
  return item.kind == "input" || item.kind == "variable";
}

std::vector<TensorId> add_item(GraphBuilder& b, const Item& item, size_t position,
                               const std::map<std::string, int64_t>& sizes,
                               const std::vector<std::vector<TensorId>>& tensors) {
  const std::string name = fmt::format("t{}", position);
  b.set_origin({name, {}, Phase::kForward, item.region});
  if (is_leaf(item)) {
    const TensorType type = resized(item.type, sizes);
    return {item.kind == "input" ? b.add_input(name, type) : b.add_variable(name, type)};
  }
  std::vector<TensorId> operands;
  for (const TensorRef& ref : item.operands) operands.push_back(tensors.at(ref.item).at(ref.result));
  if (item.kind == "gradients") {
    std::vector<std::string> names;
    for (size_t i = 1; i < operands.size(); ++i) names.push_back(fmt::format("{}g{}", name, i - 1));
    return b.add_gradients(operands[0], {operands.begin() + 1, operands.end()}, names);
  }
  const Attributes attributes = resized(item.attributes, sizes);
  if (const CompositeDef* composite = find_composite(item.kind))
    return b.add_stated(*composite, operands, attributes, {name});
  return b.add_stated(op_named(item.kind), operands, attributes, {name});
}

Model model_of(const RandomCase& random_case, WholeTensors& leaves) {
  Model model;
  model.name = "random";
  GraphBuilder b;
  std::vector<std::vector<TensorId>> tensors;
  for (size_t i = 0; i < random_case.items.size(); ++i) {
    const Item& item = random_case.items[i];
    tensors.push_back(add_item(b, item, i, random_case.sizes, tensors));
    add_used_dims(model.dims, item, random_case.sizes);
    for (const TensorId id : tensors.back()) {
      b.mark_from_model(id, item.from_model);
      model.dims = unite(model.dims, b.dims(id));
    }
    if (is_leaf(item)) add_leaf_to(model, item, b.graph().tensor(tensors.back()[0]), random_case, leaves);
  }
  const auto id_of = [&](const TensorRef& ref) { return tensors.at(ref.item).at(ref.result); };
  for (const TensorRef& ref : random_case.outputs)
    model.outputs.push_back({b.graph().tensor(id_of(ref)).name, id_of(ref)});
  for (const auto& [variable, value] : random_case.assignments) {
    if (b.type(id_of(value)) != b.type(tensors.at(variable)[0]))
      throw OpError{"an assignment of another type", ""};
    model.assignments.push_back({b.graph().tensor(tensors.at(variable)[0]).name, id_of(value), {}});
  }
  if (random_case.loss) {
    model.train = TrainSpec{id_of(*random_case.loss), random_case.optimizer, {{"lr", 0.1}}};
    if (random_case.optimizer == "momentum") model.train->numbers["momentum"] = 0.9;
    model.train->shard_state_over = random_case.shard_state_over;
  }
  model.graph = std::move(b).build();
  return model;
}

namespace {

// The names that annotations may use: those of the model's tensors, and those that training makes.
std::map<std::string, Dims> annotatable(const Model& model) {
  std::map<std::string, Dims> dims;
  for (const Tensor& tensor : model.graph.tensors())
    if (tensor.from_model) dims.emplace(tensor.name, tensor.type.dims);
  if (!model.train) return dims;
  for (const VariableDecl& variable : model.variables) {
    if (!variable.trainable) continue;
    dims.emplace(variable.name + "/grad", variable.type.dims);
    for (const VariableDecl& state : state_of(*model.train, variable))
      dims.emplace(state.name, state.type.dims);
  }
  return dims;
}

}  // namespace

Layout layout_of(const RandomCase& random_case) {
  Layout layout = random_case.layout;
  if (random_case.annotations.empty()) return layout;
  WholeTensors leaves;
  const Model model = model_of(random_case, leaves);
  const std::map<std::string, Dims> known = annotatable(model);
  for (const DrawnAnnotation& drawn : random_case.annotations) {
    std::string name = fmt::format("t{}", drawn.tensor.item);
    if (random_case.items[drawn.tensor.item].kind == "gradients")
      name += fmt::format("g{}", drawn.tensor.result);
    const auto at = known.find(name + drawn.suffix);
    if (at == known.end()) continue;
    Annotation annotation{at->first, {}, {}};
    for (const Rule& split : drawn.splits)
      if (contains(at->second, split.dim)) annotation.splits.push_back(split);
    // A tensor may be drawn twice. Its later annotation, or its later rules, take the place of the first ones.
    const auto is_of_tensor = [&](const auto& first) { return first.pattern == annotation.pattern; };
    if (!drawn.as_rules) {
      std::erase_if(layout.annotations, is_of_tensor);
      layout.annotations.push_back(std::move(annotation));
      continue;
    }
    std::erase_if(layout.limited_rules, is_of_tensor);
    for (Rule& rule : annotation.splits)
      layout.limited_rules.push_back({std::move(rule), annotation.pattern});
  }
  return layout;
}

std::string to_string(const RandomCase& random_case) {
  WholeTensors leaves;
  const Model model = model_of(random_case, leaves);
  std::string text = to_string(model.graph);
  for (const NamedTensor& output : model.outputs) text += fmt::format("output {}\n", output.name);
  for (const Assignment& assignment : model.assignments)
    text += fmt::format("assign {} = {}\n", assignment.variable, model.graph.tensor(assignment.value).name);
  if (model.train)
    text += fmt::format("train {} {}, state over [{}]\n", model.graph.tensor(model.train->loss).name,
                        model.train->optimizer, fmt::join(model.train->shard_state_over, ", "));
  const Layout layout = layout_of(random_case);
  for (const Annotation& annotation : layout.annotations)
    text += fmt::format("annotate {} {}\n", annotation.pattern,
                        to_string(Layout{layout.mesh, annotation.splits}));
  return fmt::format("{}mesh {} layout {} (seed {})\n", text, to_string(layout.mesh), to_string(layout),
                     random_case.seed);
}

}  // namespace mtfc
