#include "core/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/graph/op_registry.h"

namespace mtfc {
namespace {

std::string_view kind_name(const Node& node) {
  static constexpr auto kNames = std::to_array<EnumName<NodeKind>>({{NodeKind::kInput, "input"},
                                                                    {NodeKind::kVariable, "variable"},
                                                                    {NodeKind::kGradients, "gradients"},
                                                                    {NodeKind::kLoop, "loop"}});
  if (node.kind == NodeKind::kOp) return node.op->signature.name;
  if (node.kind == NodeKind::kComposite) return node.composite->signature.name;
  return name_in(kNames, node.kind);
}

}  // namespace

const SharedOrigin& no_origin() {
  static const SharedOrigin kNone = std::make_shared<const Origin>();
  return kNone;
}

const Graph::Contents& Graph::contents() const {
  static const Contents kNone;
  return contents_ ? *contents_ : kNone;
}

Graph::Contents& Graph::own() {
  if (!contents_) {
    contents_ = std::make_shared<Contents>();
  } else if (contents_.use_count() > 1) {
    contents_ = std::make_shared<Contents>(*contents_);
  } else {
    // A thread that has shared them may just have let go.
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  return *contents_;
}

std::string_view Graph::name_of(int32_t entry) const {
  return entry >= 0 ? tensor(TensorId(entry)).name : aliases()[static_cast<size_t>(-1 - entry)].first;
}

TensorId Graph::tensor_of(int32_t entry) const {
  return entry >= 0 ? TensorId(entry) : aliases()[static_cast<size_t>(-1 - entry)].second;
}

TensorId Graph::find(std::string_view name) const {
  const std::optional<int32_t> entry =
      contents().index.find(name, [&](int32_t candidate) { return name_of(candidate) == name; });
  return entry ? tensor_of(*entry) : kNoTensor;
}

std::vector<std::string> Graph::names(const std::vector<TensorId>& ids) const {
  std::vector<std::string> names;
  for (const TensorId id : ids) names.push_back(tensor(id).name);
  return names;
}

std::vector<TensorType> Graph::types(const std::vector<TensorId>& ids) const {
  std::vector<TensorType> types;
  types.reserve(ids.size());
  for (const TensorId id : ids) types.push_back(type(id));
  return types;
}

std::optional<double> Graph::constant_value(TensorId id) const {
  const Node& node = producer(id);
  if (node.kind != NodeKind::kOp || !node.op->traits.is_constant) return std::nullopt;
  return node.attributes.get<double>("value");
}

std::string leaf_name(size_t operand) {
  return fmt::format("operand {}", operand);
}

namespace {

std::string indented(const std::string& text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin) + 1;
    result += "  " + text.substr(begin, end - begin);
    begin = end;
  }
  return result;
}

std::string to_string(const LoopPart& part, std::string_view what) {
  std::string results;
  for (const TensorId id : part.results)
    results += (results.empty() ? "" : ", ") + part.graph.tensor(id).name;
  return fmt::format("  {}:\n{}    -> {}\n", what, indented(indented(mtfc::to_string(part.graph))), results);
}

}  // namespace

std::string to_string(const Graph& graph, const Node& node) {
  std::string results, operands;
  for (const TensorId id : node.results)
    results += fmt::format("{}{}: {}", results.empty() ? "" : ", ", graph.tensor(id).name,
                           to_string(graph.type(id)));
  for (const TensorId id : node.operands) operands += (operands.empty() ? "" : ", ") + graph.tensor(id).name;
  std::string text = fmt::format("{} = {}({})", results, kind_name(node), operands);
  for (const auto& [name, value] : node.attributes.entries())
    text += fmt::format(" {}={}", name, to_string(value));
  text += fmt::format("  # {}{}{}\n", to_string(node.origin->phase),
                      node.origin->location.pointer.empty() ? "" : " ", node.origin->location.pointer);
  if (node.backward) text += to_string(*node.backward, "backward");
  if (!node.loop) return text;
  if (node.loop->is_counted())
    text += fmt::format("  {} times\n", node.loop->times);
  else
    text += to_string(node.loop->condition, "while");
  if (node.loop->sums > 0) text += fmt::format("  the last {} added up\n", node.loop->sums);
  return text + to_string(node.loop->body, "body");
}

std::vector<std::vector<int>> linear_sets(const Graph& graph, const Node& node) {
  return linear_sets(*node.op, {node.attributes, graph.operand_types(node)});
}

std::string to_string(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) text += to_string(graph, node);
  return text;
}

Graph with_layout(Graph graph, const std::function<StatedLayout(const Tensor&)>& stated,
                  const std::function<GraphLoop(const GraphLoop&)>& loop) {
  for (const TensorId id : graph.tensors().ids()) {
    StatedLayout found = stated(graph.tensor(id));
    if (found.annotation) graph.own().tensors[id].annotation = std::move(found.annotation);
    if (found.offered) graph.own().tensors[id].offered = std::move(found.offered);
  }
  for (size_t n = 0; n < graph.nodes().size(); ++n)
    if (const auto& before = graph.nodes()[n].loop)
      graph.own().nodes[n].loop = std::make_shared<const GraphLoop>(loop(*before));
  return graph;
}

bool GraphBuilder::take_name(const std::string& name, TensorId id) {
  return graph_.own().index.add_unless(name, id.number(),
                                       [&](int32_t entry) { return graph_.name_of(entry) == name; });
}

// Takes the name for a tensor, with a number behind it where another one has it.
void GraphBuilder::make_unique(std::string& name, TensorId id) {
  if (take_name(name, id)) return;
  for (int& count = used_[name];;) {
    std::string numbered = name + '_' + std::to_string(++count);
    if (!take_name(numbered, id)) continue;
    name = std::move(numbered);
    return;
  }
}

TensorId GraphBuilder::append_tensor(Tensor tensor) {
  const TensorId id(graph_.tensors().size());
  make_unique(tensor.name, id);
  return graph_.own().tensors.add(std::move(tensor));
}

std::vector<TensorId> GraphBuilder::append(Node node, std::vector<TensorType> types,
                                           const std::vector<std::string>& names, std::string_view kind) {
  const int id = static_cast<int>(graph_.nodes().size());
  const auto generated = [&] {
    std::string name = origin_->name;
    if (!name.empty()) name += '/';
    return name += kind;
  };
  node.results.reserve(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const bool named = i < names.size() && !names[i].empty();
    node.results.push_back(
        append_tensor({named ? names[i] : generated(), std::move(types[i]), id, static_cast<int>(i)}));
  }
  return graph_.own().nodes.emplace_back(std::move(node)).results;
}

// The types of the node's results. When floats are widened, every float operand is f64, so another result can only come
// from the default of an absent dtype attribute.
std::vector<TensorType> GraphBuilder::inferred(const Signature& signature, Node& node) {
  operand_types_.resize(node.operands.size());
  for (size_t i = 0; i < node.operands.size(); ++i) operand_types_[i] = type(node.operands[i]);
  if (widens_)
    for (const AttributeSpec& spec : signature.attributes)
      if (const AttributeValue* stated = node.attributes.find(spec.name);
          stated && spec.type == AttributeType::kDType)
        node.attributes.set(std::string(spec.name), widened(std::get<DType>(*stated)));
  std::vector<TensorType> results = signature.infer({node.attributes, operand_types_});
  if (!widens_ || std::none_of(results.begin(), results.end(),
                               [&](const TensorType& type) { return type.dtype != widened(type.dtype); }))
    return results;
  for (const AttributeSpec& spec : signature.attributes)
    if (spec.type == AttributeType::kDType) node.attributes.set(std::string(spec.name), DType::kF64);
  return signature.infer({node.attributes, operand_types_});
}

TensorId GraphBuilder::add_input(const std::string& name, const TensorType& type) {
  Node node{.kind = NodeKind::kInput, .origin = origin_};
  return append(std::move(node), {{widened(type.dtype), type.dims}}, {name}, "input")[0];
}

TensorId GraphBuilder::add_variable(const std::string& name, const TensorType& type) {
  Node node{.kind = NodeKind::kVariable, .origin = origin_};
  return append(std::move(node), {{widened(type.dtype), type.dims}}, {name}, "variable")[0];
}

TensorId GraphBuilder::constant(double value, DType dtype) {
  return op("constant", {}, {{"value", value}, {"dtype", dtype}});
}

std::vector<TensorId> GraphBuilder::add_stated(const OpDef& op, std::vector<TensorId> operands,
                                               Attributes attributes, const std::vector<std::string>& names) {
  Node node{.kind = NodeKind::kOp,
            .op = &op,
            .operands = std::move(operands),
            .attributes = std::move(attributes),
            .origin = origin_};
  std::vector<TensorType> results = inferred(op.signature, node);
  return append(std::move(node), std::move(results), names, op.signature.name);
}

std::vector<TensorId> GraphBuilder::add_stated(const CompositeDef& composite, std::vector<TensorId> operands,
                                               Attributes attributes, const std::vector<std::string>& names) {
  Node node{.kind = NodeKind::kComposite,
            .composite = &composite,
            .operands = std::move(operands),
            .attributes = std::move(attributes),
            .origin = origin_};
  std::vector<TensorType> results = inferred(composite.signature, node);
  return append(std::move(node), std::move(results), names, composite.signature.name);
}

namespace {

// A gradient, a composite, an optimizer or a pass has misused an operation; no line of a model is to blame.
InternalError misuse(const Signature& signature, const Origin& origin, const OpError& error) {
  const std::string where = origin.name.empty() ? "" : fmt::format(" for '{}'", origin.name);
  return InternalError(fmt::format("'{}' is misused{}: {}", signature.name, where, error.what()));
}

}  // namespace

std::vector<TensorId> GraphBuilder::add(const OpDef& op, std::vector<TensorId> operands,
                                        Attributes attributes, const std::vector<std::string>& names) {
  try {
    return add_stated(op, std::move(operands), std::move(attributes), names);
  } catch (const OpError& error) {
    throw misuse(op.signature, *origin_, error);
  }
}

std::vector<TensorId> GraphBuilder::add(const CompositeDef& composite, std::vector<TensorId> operands,
                                        Attributes attributes, const std::vector<std::string>& names) {
  try {
    return add_stated(composite, std::move(operands), std::move(attributes), names);
  } catch (const OpError& error) {
    throw misuse(composite.signature, *origin_, error);
  }
}

std::vector<TensorId> GraphBuilder::add_gradients(TensorId of, const std::vector<TensorId>& in,
                                                  const std::vector<std::string>& names) {
  Node node{.kind = NodeKind::kGradients, .operands = {of}, .origin = origin_};
  node.operands.insert(node.operands.end(), in.begin(), in.end());
  std::vector<TensorType> types;
  for (const TensorId id : in) types.push_back(type(id));
  return append(std::move(node), std::move(types), names, "gradients");
}

std::vector<TensorId> GraphBuilder::add_loop(std::shared_ptr<const GraphLoop> loop,
                                             std::vector<TensorId> operands,
                                             const std::vector<std::string>& names) {
  std::vector<TensorType> types;
  for (size_t i = 0; i < loop->body.results.size(); ++i) {
    types.push_back(loop->body.graph.type(loop->body.results[i]));
    check_invariant(i >= loop->carried() || (i < operands.size() && types[i] == type(operands[i])),
                    "a loop gives a carried tensor back in another type");
  }
  Node node{
      .kind = NodeKind::kLoop, .operands = std::move(operands), .origin = origin_, .loop = std::move(loop)};
  return append(std::move(node), std::move(types), names, "loop");
}

TensorId GraphBuilder::op(std::string_view kind, std::vector<TensorId> operands, Attributes attributes) {
  return add(op_named(kind), std::move(operands), std::move(attributes)).at(0);
}

TensorId GraphBuilder::cast(TensorId id, DType dtype) {
  return type(id).dtype == dtype ? id : op("cast", {id}, {{"dtype", dtype}});
}

std::vector<TensorId> GraphBuilder::copy(const Graph& from, const Node& node,
                                         std::vector<TensorId> operands) {
  Node copied = node;
  copied.operands = std::move(operands);
  copied.results.clear();
  const std::vector<TensorId> results =
      append(std::move(copied), from.result_types(node), from.names(node.results), kind_name(node));
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& copied_from = from.tensor(node.results[i]);
    if (copied_from.from_model) mark_from_model(results[i]);
    if (copied_from.annotation) annotate(results[i], copied_from.annotation);
    offer(results[i], copied_from.offered);
  }
  return results;
}

void GraphBuilder::take_first(Graph& from, PerTensor<TensorId>& map) {
  Node& taken = from.own().nodes.front();
  for (TensorId& operand : taken.operands) operand = map[operand];
  const int id = static_cast<int>(graph_.nodes().size());
  for (TensorId& result : taken.results) {
    Tensor& tensor = from.own().tensors[result];
    tensor.node = id;
    result = map[result] = append_tensor(std::move(tensor));
  }
  graph_.own().nodes.push_back(std::move(taken));
  drop_first(from);
}

void GraphBuilder::take_over(Graph& from) {
  // Room that is not used costs little: the system provides memory when it is first written.
  graph_.own().tensors.reserve(from.tensors().size() + from.tensors().size() / 2);
  std::swap(graph_.own().index, from.own().index);
  graph_.own().index.clear();
}

int GraphBuilder::open_region() {
  const int before = region_;
  if (region_ == 0) region_ = ++regions_;
  return before;
}

void GraphBuilder::set_origin(Origin origin) {
  if (region_ != 0) origin.region = region_;
  origin_ = std::make_shared<const Origin>(std::move(origin));
}

void GraphBuilder::set_origin(SharedOrigin origin) {
  origin_ = std::move(origin);
}

Graph GraphBuilder::build() && {
  return std::move(graph_);
}

void GraphBuilder::alias(TensorId id, const std::string& name) {
  const bool is_new =
      graph_.own().index.add_unless(name, Graph::alias_entry(graph_.aliases().size()),
                                    [&](int32_t entry) { return graph_.name_of(entry) == name; });
  check_invariant(is_new, "a tensor is given an alias that another one has as its name");
  graph_.own().aliases.emplace_back(name, id);
}

void GraphBuilder::name(TensorId id, const std::string& name) {
  Tensor& tensor = graph_.own().tensors[id];
  tensor.from_model = true;
  if (tensor.name == name) return;
  graph_.own().index.remove(tensor.name, id.number());
  check_invariant(take_name(name, id), "a tensor is given a name that another one has");
  tensor.name = name;
}

}  // namespace mtfc
