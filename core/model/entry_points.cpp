#include "core/model/entry_points.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/diagnostics/suggest.h"
#include "core/graph/op_registry.h"
#include "core/model/decoding.h"
#include "core/model/training.h"

namespace mtfc {
namespace {

// A scaled standard draw or a constant, with the variable's dimensions.
TensorId initial_value(GraphBuilder& b, const VariableDecl& variable) {
  const Init& init = *variable.init;
  const TensorType& type = variable.type;
  const auto constant = [&](double value) { return b.constant(value, type.dtype); };
  const auto draw = [&](std::string_view kind) {
    return b.op(kind, {}, {{"dims", type.dims}, {"dtype", type.dtype}});
  };
  switch (init.kind) {
    case InitKind::kConstant:
      return b.op("broadcast", {constant(init.a)}, {{"dims", type.dims}});
    case InitKind::kNormal:
      return b.op("mul", {draw("random_normal"), constant(init.a)});
    case InitKind::kTruncatedNormal:
      return b.op("mul", {draw("random_truncated_normal"), constant(init.a)});
    case InitKind::kUniform:
      return b.op("add",
                  {b.op("mul", {draw("random_uniform"), constant(init.b - init.a)}), constant(init.a)});
  }
  throw InternalError("an unknown kind of initial value");
}

// Copies the graph into an empty builder; tensor ids stay the same. Composites that have other results in evaluation
// give these, also in loops.
void copy_for_evaluation(GraphBuilder& builder, Graph graph) {
  graph = with_changed_parts(std::move(graph), "", [](EntryGraph part, const GraphLoop&) {
    GraphBuilder inner;
    copy_for_evaluation(inner, std::move(part.graph));
    part.graph = std::move(inner).build();
    return part;
  });
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kComposite || node.composite->in_evaluation == kAsInTraining) {
      builder.copy(graph, node, node.operands);
      continue;
    }
    builder.set_origin(node.origin);
    StandIn stand_in = node.composite->in_evaluation(node);
    const std::vector<TensorId> copied =
        builder.add(op_named(stand_in.op), std::move(stand_in.operands), std::move(stand_in.attributes),
                    graph.names(node.results));
    check_invariant(copied == node.results, "tensors have other numbers in evaluation");
    for (const TensorId id : copied) builder.mark_from_model(id, graph.tensor(id).from_model);
  }
  for (const auto& [name, id] : graph.aliases()) builder.alias(id, name);
}

void add_kept(EntryGraph& entry, const std::vector<std::string>& keep) {
  for (const std::string& name : keep) {
    const bool listed = std::any_of(entry.outputs.begin(), entry.outputs.end(),
                                    [&](const NamedTensor& output) { return output.name == name; });
    const TensorId tensor = entry.graph.find(name);
    if (!listed && tensor != kNoTensor) entry.outputs.push_back({name, tensor});
  }
}

// Puts the outputs that training alone makes in their positions among the model's own.
void add_train_outputs(EntryGraph& entry, const Model& model) {
  for (const auto& [name, position] : model.train_outputs) {
    const TensorId tensor = entry.graph.find(name);
    check_invariant(tensor != kNoTensor, "training has not made one of its outputs");
    entry.outputs.insert(entry.outputs.begin() + static_cast<std::ptrdiff_t>(position), {name, tensor});
  }
}

std::vector<std::string> with_loss(const Model& model, std::vector<std::string> keep) {
  if (model.train) keep.push_back(loss_name(model));
  return keep;
}

// Makes an output that is a variable deliver its new value.
void show_new_values(EntryGraph& entry) {
  std::map<std::string_view, TensorId> values;
  for (const Assignment& assignment : entry.assignments) values[assignment.variable] = assignment.value;
  for (NamedTensor& output : entry.outputs) {
    if (entry.graph.producer(output.tensor).kind != NodeKind::kVariable) continue;
    const auto value = values.find(entry.graph.tensor(output.tensor).name);
    if (value != values.end()) output.tensor = value->second;
  }
}

// Assigns an i8 variable its initial value in f32, rounded to multiples of the scale of each row, and the scales to
// theirs.
void add_scaled_init(GraphBuilder& b, const VariableDecl& variable,
                     const std::vector<VariableDecl>& variables, std::vector<Assignment>& assignments) {
  const VariableDecl* scale = find_named(variables, variable.scale);
  check_invariant(scale != nullptr, "a variable has no scale");
  VariableDecl in_f32 = variable;
  in_f32.type.dtype = DType::kF32;
  const TensorId value = initial_value(b, in_f32);
  const Dims over = without(variable.type.dims, scale->type.dims);
  const TensorId largest = b.op("reduce_max", {b.op("abs", {value})}, {{"over", over}});
  TensorId scales = b.op("mul", {largest, b.constant(1.0 / kLargestStored, DType::kF32)});
  scales = b.op("maximum", {scales, b.constant(kLeastScale, DType::kF32)});
  if (b.dims(scales) != scale->type.dims) scales = b.op("transpose", {scales}, {{"dims", scale->type.dims}});
  const TensorId multiples = b.op("round", {b.op("div", {value, scales})});
  assignments.push_back({variable.name, b.cast(multiples, DType::kI8), variable.location});
  assignments.push_back({variable.scale, scales, variable.location});
}

EntryGraph init_entry(const std::vector<VariableDecl>& variables) {
  EntryGraph entry{.name = "init", .graph = {}, .outputs = {}, .assignments = {}};
  GraphBuilder b;
  for (const VariableDecl& variable : variables) {
    if (!variable.init) continue;
    b.set_origin({variable.name + "/init", variable.location, Phase::kForward});
    if (!variable.scale.empty()) {
      add_scaled_init(b, variable, variables, entry.assignments);
      continue;
    }
    entry.assignments.push_back({variable.name, initial_value(b, variable), variable.location});
  }
  entry.graph = std::move(b).build();
  return entry;
}

constexpr std::string_view kPromptPlaces = ".prompt";  // ends the name of their dimension

// The index of the dimension of places among the dimensions of a cache of `prompt`.
size_t place_of(const PromptTensor& prompt, const Dims& dims) {
  const int at = position(dims, prompt.place + std::string(kPromptPlaces));
  check_invariant(at >= 0, "a cache of the prompt has no places");
  return static_cast<size_t>(at);
}

// The cache with a place for each position of the prompt. No rule can name that dimension, since its name has a dot.
VariableDecl with_places_of(VariableDecl cache, const PromptTensor& prompt, const Graph& graph) {
  const Dims& dims = graph.type(prompt.tensor).dims;
  const int64_t positions = dims[static_cast<size_t>(position(dims, prompt.position))].size;
  for (Dim& dim : cache.type.dims)
    if (dim.name == prompt.place) dim = {dim.name + std::string(kPromptPlaces), positions};
  return cache;
}

TensorId in_order(GraphBuilder& b, TensorId tensor, const Dims& order) {
  return b.dims(tensor) == order ? tensor : b.op("transpose", {tensor}, {{"dims", order}});
}

// The logits in dimensions that no rule names, so that nothing splits them. A name of the model can't contain a dot.
TensorId whole_logits(GraphBuilder& b, const DecodeSpec& decode) {
  // The token's dimensions, then the vocabulary.
  const Dims order = unite(token_type(decode).dims, decode.graph.type(decode.logits).dims);
  std::vector<Renaming> whole;
  for (const Dim& dim : order) whole.push_back({dim.name, {dim.name + ".whole", dim.size}});
  const Location& location = decode.graph.producer(decode.logits).origin->location;
  b.set_origin({"logits.whole", location, Phase::kForward});
  const TensorId logits = b.op("rename", {in_order(b, decode.logits, order)}, {{"map", whole}});
  b.annotate(logits, std::make_shared<const TensorAnnotation>(
                         TensorAnnotation{replicated(order.size()), "", location}));
  return logits;
}

std::vector<Assignment> held_values(GraphBuilder& b, const Model& model) {
  std::vector<Assignment> assignments;
  const std::vector<VariableDecl> caches = caches_of(model, "encode");
  for (size_t i = 0; i < caches.size(); ++i) {
    const auto& [cache, tensor, location] = model.decode->held[i];
    b.set_origin({cache + ".held", location, Phase::kForward});
    assignments.push_back({cache, in_order(b, tensor, caches[i].type.dims), location});
  }
  return assignments;
}

std::vector<Assignment> prompt_values(GraphBuilder& b, const Model& model) {
  std::vector<Assignment> assignments;
  const std::vector<VariableDecl> caches = caches_of(model, "prompt");
  for (size_t i = 0; i < caches.size(); ++i) {
    const PromptTensor& prompt = model.decode->prompt[i];
    Dims order = caches[i].type.dims;
    Dim& named = order[place_of(prompt, order)];
    const Dim place = std::exchange(named, {prompt.position, named.size});
    b.set_origin({prompt.cache + ".prompt", prompt.location, Phase::kForward});
    const std::vector<Renaming> places = {{prompt.position, place}};
    const TensorId value = b.op("rename", {in_order(b, prompt.tensor, order)}, {{"map", places}});
    assignments.push_back({prompt.cache, value, prompt.location});
  }
  return assignments;
}

}  // namespace

std::vector<VariableDecl> all_variables(const Model& model) {
  std::vector<VariableDecl> variables = model.variables;
  if (!model.train) return variables;
  bool trains = false;
  for (const VariableDecl& variable : model.variables) {
    if (!variable.trainable) continue;
    trains = true;
    for (VariableDecl& state : state_of(*model.train, variable)) variables.push_back(std::move(state));
  }
  if (trains)
    for (VariableDecl& state : shared_state(*model.train)) variables.push_back(std::move(state));
  return variables;
}

bool has_train_entry(const Model& model) {
  return model.train || !model.assignments.empty();
}

Model only_evaluate(Model model) {
  model.train.reset();
  model.assignments.clear();
  model.train_outputs.clear();
  model.decode.reset();
  model.is_reduced = true;
  return model;
}

Model reduced_to(Model model, std::string_view entry) {
  if (entry == "evaluate") return only_evaluate(std::move(model));
  const bool decodes = entry == "decode" || entry == "encode";
  return decodes && model.decode ? only_decode(std::move(model)) : model;
}

std::string loss_name(const Model& model) {
  if (!model.train) return "";
  const TensorId loss = model.train->loss;
  for (const NamedTensor& output : model.outputs)
    if (output.tensor == loss) return output.name;
  return model.graph.tensor(loss).name;
}

EntryGraph forward_entry(const Model& model, const std::vector<std::string>& keep) {
  EntryGraph entry{
      .name = "train", .graph = model.graph, .outputs = model.outputs, .assignments = model.assignments};
  if (!model.train) return entry;
  // Microbatches are to hand over what is delivered.
  if (model.train->microbatches > 1) add_kept(entry, with_loss(model, keep));
  entry.outputs.push_back({"", model.train->loss});
  return entry;
}

EntryGraph with_updates(EntryGraph entry, const Model& model, const std::vector<std::string>& asked) {
  const std::vector<std::string> keep = with_loss(model, asked);
  if (model.train) {
    GraphBuilder b;
    for (const Node& node : entry.graph.nodes()) b.copy(entry.graph, node, node.operands);
    for (const auto& [name, id] : entry.graph.aliases()) b.alias(id, name);
    std::vector<TensorId> gradients = add_gradients(b, model, entry.outputs.back().tensor);
    entry.outputs.pop_back();
    std::vector<std::string> wanted = keep;
    for (const TrainOutput& output : model.train_outputs) wanted.push_back(output.name);
    add_updates(b, model, std::move(gradients), wanted, entry.assignments);
    entry.graph = std::move(b).build();
  }
  add_train_outputs(entry, model);
  add_kept(entry, keep);
  show_new_values(entry);
  return entry;
}

bool has_encode_entry(const Model& model) {
  return model.decode && !model.decode->held.empty();
}

bool is_for_generation(std::string_view entry) {
  return entry == "decode" || entry == "encode" || entry == "prompt";
}

std::vector<VariableDecl> caches_of(const Model& model, const std::string& entry) {
  std::vector<VariableDecl> caches;
  if (entry == "decode") caches = model.decode->caches;
  if (entry == "encode")
    for (const HeldTensor& held : model.decode->held)
      caches.push_back(*find_named(model.decode->caches, held.cache));
  if (entry == "prompt")
    for (const PromptTensor& prompt : model.decode->prompt)
      caches.push_back(with_places_of(*find_named(model.decode->caches, prompt.cache), prompt, model.graph));
  return caches;
}

EntryGraph entry_named(const Model& model, const std::string& name, const std::vector<std::string>& keep) {
  if (name == "init") return init_entry(all_variables(model));
  EntryGraph entry{.name = name, .graph = {}, .outputs = {}, .assignments = {}};
  GraphBuilder b;
  copy_for_evaluation(b, name == "decode" ? model.decode->graph : model.graph);
  if (name == "evaluate") entry.outputs = model.outputs;
  if (name == "decode") entry.outputs = {{std::string(kLogitsOutput), whole_logits(b, *model.decode)}};
  if (name == "decode") entry.assignments = model.decode->assignments;
  if (name == "encode") entry.assignments = held_values(b, model);
  if (name == "prompt") entry.assignments = prompt_values(b, model);
  entry.graph = std::move(b).build();
  add_kept(entry, keep);
  return entry;
}

}  // namespace mtfc
