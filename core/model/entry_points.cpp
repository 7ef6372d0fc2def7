#include "core/model/entry_points.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/graph/expand_composites.h"
#include "core/graph/op_registry.h"
#include "core/model/decoding.h"
#include "core/model/microbatches.h"
#include "core/model/stored_weights.h"
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

// Copies the model's graph into an empty builder; tensor ids stay the same.
void copy_graph(GraphBuilder& builder, const Graph& graph) {
  for (const Node& node : graph.nodes()) builder.copy(graph, node, node.operands);
  for (const auto& [name, id] : graph.aliases()) builder.alias(id, name);
}

void copy_for_evaluation(GraphBuilder& builder, const Graph& graph);

LoopPart for_evaluation(const LoopPart& part) {
  GraphBuilder builder;
  copy_for_evaluation(builder, part.graph);
  return {std::move(builder).build(), part.results};
}

// Like copy_graph, but composites that have other results in evaluation give these.
void copy_for_evaluation(GraphBuilder& builder, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.loop) {
      Node copied = node;
      copied.loop = std::make_shared<GraphLoop>(GraphLoop{for_evaluation(node.loop->condition),
                                                          for_evaluation(node.loop->body), node.loop->times,
                                                          node.loop->sums});
      builder.copy(graph, copied, node.operands);
      continue;
    }
    if (node.kind != NodeKind::kComposite || node.composite->in_evaluation == kAsInTraining) {
      builder.copy(graph, node, node.operands);
      continue;
    }
    builder.set_origin(node.origin);
    StandIn stand_in = node.composite->in_evaluation(node);
    std::vector<std::string> names;
    for (const TensorId id : node.results) names.push_back(graph.tensor(id).name);
    const std::vector<TensorId> copied = builder.add(op_named(stand_in.op), std::move(stand_in.operands),
                                                     std::move(stand_in.attributes), names);
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

// The part of a step before its gradients, with the loss as its last output, ready for add_microbatches.
// Composites are expanded, so that add_microbatches sees their random draws.
EntryGraph forward_to_split(const Model& model, const std::vector<std::string>& keep) {
  EntryGraph entry{
      .name = "train", .graph = model.graph, .outputs = model.outputs, .assignments = model.assignments};
  add_kept(entry, keep);
  entry.outputs.push_back({"", model.train->loss});
  return expand_composites(std::move(entry), true);
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
  const auto scale = std::find_if(variables.begin(), variables.end(),
                                  [&](const VariableDecl& decl) { return decl.name == variable.scale; });
  check_invariant(scale != variables.end(), "a variable has no scale");
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

std::string loss_name(const Model& model) {
  if (!model.train) return "";
  const TensorId loss = model.train->loss;
  for (const NamedTensor& output : model.outputs)
    if (output.tensor == loss) return output.name;
  return model.graph.tensor(loss).name;
}

EntryGraph train_entry(const Model& model, const std::vector<std::string>& asked) {
  std::vector<std::string> keep = asked;
  if (model.train) keep.push_back(loss_name(model));
  EntryGraph entry{.name = "train", .graph = {}, .outputs = model.outputs, .assignments = model.assignments};
  GraphBuilder b;
  std::vector<TensorId> gradients;
  if (model.train && model.train->microbatches > 1) {
    Microbatched parts = add_microbatches(b, forward_to_split(model, keep), model);
    entry.outputs = std::move(parts.outputs);
    entry.assignments = std::move(parts.assignments);
    gradients = std::move(parts.gradients);
  } else {
    copy_graph(b, model.graph);
    if (model.train) gradients = add_gradients(b, model);
  }
  std::vector<std::string> wanted = keep;
  for (const TrainOutput& output : model.train_outputs) wanted.push_back(output.name);
  if (model.train) add_updates(b, model, std::move(gradients), wanted, entry.assignments);
  entry.graph = std::move(b).build();
  add_train_outputs(entry, model);
  add_kept(entry, keep);
  show_new_values(entry);
  return entry;
}

EntryGraph evaluate_entry(const Model& model, const std::vector<std::string>& keep) {
  EntryGraph entry{.name = "evaluate", .graph = {}, .outputs = model.outputs, .assignments = {}};
  GraphBuilder b;
  copy_for_evaluation(b, model.graph);
  entry.graph = std::move(b).build();
  add_kept(entry, keep);
  return entry;
}

EntryGraph decode_entry(const Model& model, const std::vector<std::string>& keep) {
  const DecodeSpec& decode = *model.decode;
  Dims order;  // the token's dimensions, then the vocabulary
  for (const InputDecl& input : decode.inputs)
    if (input.name == kTokenInput) order = input.type.dims;
  order = unite(order, decode.graph.type(decode.logits).dims);
  EntryGraph entry{.name = "decode", .graph = {}, .outputs = {}, .assignments = decode.assignments};
  GraphBuilder b;
  copy_for_evaluation(b, decode.graph);
  // No rule names these dimensions, so nothing splits them. A name of the model can't contain a dot.
  std::vector<Renaming> whole;
  for (const Dim& dim : order) whole.push_back({dim.name, {dim.name + ".whole", dim.size}});
  b.set_origin({"logits.whole", decode.graph.producer(decode.logits).origin->location, Phase::kForward});
  TensorId logits = decode.logits;
  if (b.dims(logits) != order) logits = b.op("transpose", {logits}, {{"dims", order}});
  logits = b.op("rename", {logits}, {{"map", whole}});
  b.annotate(logits,
             std::make_shared<const TensorAnnotation>(TensorAnnotation{
                 replicated(order.size()), "", decode.graph.producer(decode.logits).origin->location}));
  entry.outputs.push_back({std::string(kLogitsOutput), logits});
  entry.graph = std::move(b).build();
  add_kept(entry, keep);
  return entry;
}

bool has_encode_entry(const Model& model) {
  return model.decode && !model.decode->held.empty();
}

EntryGraph encode_entry(const Model& model, const std::vector<std::string>& keep) {
  const std::vector<VariableDecl> caches = caches_of(model, "encode");
  EntryGraph entry{.name = "encode", .graph = {}, .outputs = {}, .assignments = {}};
  GraphBuilder b;
  copy_for_evaluation(b, model.graph);
  for (size_t i = 0; i < caches.size(); ++i) {
    const auto& [cache, tensor, location] = model.decode->held[i];
    const Dims& order = caches[i].type.dims;
    b.set_origin({cache + ".held", location, Phase::kForward});
    const TensorId value = b.dims(tensor) == order ? tensor : b.op("transpose", {tensor}, {{"dims", order}});
    entry.assignments.push_back({cache, value, location});
  }
  entry.graph = std::move(b).build();
  add_kept(entry, keep);
  return entry;
}

EntryGraph prompt_entry(const Model& model, const std::vector<std::string>& keep) {
  const std::vector<VariableDecl> caches = caches_of(model, "prompt");
  EntryGraph entry{.name = "prompt", .graph = {}, .outputs = {}, .assignments = {}};
  GraphBuilder b;
  copy_for_evaluation(b, model.graph);
  for (size_t i = 0; i < caches.size(); ++i) {
    const PromptTensor& prompt = model.decode->prompt[i];
    const TensorId tensor = prompt.tensor;
    Dims order = caches[i].type.dims;
    const Dim place = order[place_of(prompt, order)];
    for (Dim& dim : order)
      if (dim == place) dim.name = prompt.position;
    b.set_origin({prompt.cache + ".prompt", prompt.location, Phase::kForward});
    const TensorId value = b.dims(tensor) == order ? tensor : b.op("transpose", {tensor}, {{"dims", order}});
    const std::vector<Renaming> places = {{prompt.position, place}};
    entry.assignments.push_back({prompt.cache, b.op("rename", {value}, {{"map", places}}), prompt.location});
  }
  entry.graph = std::move(b).build();
  add_kept(entry, keep);
  return entry;
}

bool is_for_generation(std::string_view entry) {
  return entry == "decode" || entry == "encode" || entry == "prompt";
}

std::vector<VariableDecl> caches_of(const Model& model, const std::string& entry) {
  std::vector<VariableDecl> caches;
  if (entry == "decode") caches = model.decode->caches;
  if (entry == "encode")
    for (const HeldTensor& held : model.decode->held)
      for (const VariableDecl& cache : model.decode->caches)
        if (cache.name == held.cache) caches.push_back(cache);
  if (entry == "prompt")
    for (const PromptTensor& prompt : model.decode->prompt)
      for (const VariableDecl& cache : model.decode->caches)
        if (cache.name == prompt.cache) caches.push_back(with_places_of(cache, prompt, model.graph));
  return caches;
}

EntryGraph entry_named(const Model& model, const std::string& name, const std::vector<std::string>& keep) {
  if (name == "init") return init_entry(all_variables(model));
  if (name == "train") return train_entry(model, keep);
  if (name == "encode") return encode_entry(model, keep);
  if (name == "prompt") return prompt_entry(model, keep);
  return name == "decode" ? decode_entry(model, keep) : evaluate_entry(model, keep);
}

}  // namespace mtfc
