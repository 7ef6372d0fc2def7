#include "core/rewrite/mix_precision.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/graph/custom_gradient.h"
#include "core/graph/graph.h"
#include "core/graph/op_registry.h"
#include "core/model/model_graphs.h"
#include "core/tensors/name_pattern.h"

namespace mtfc {
namespace {

// How a float of the new graph mixes with bf16.
enum class Role {
  kOther,       // another dtype than f32 and bf16
  kNeutral,     // f32 of variables, inputs and constants: becomes bf16 where it meets bf16
  kActivation,  // bf16
  kWide,        // f32 by choice: makes bf16 that it meets f32
};

bool is_product(const Node& node) {
  return node.kind == NodeKind::kOp && is_product(*node.op) && node.operands.size() > 1;
}

bool adds_up(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kOp) return false;
  if (node.op->family == Family::kContraction)
    return node.operands.size() == 1 &&
           graph.type(node.results[0]).dims.size() < graph.type(node.operands[0]).dims.size();
  return node.op->family == Family::kReduction && (node.op->traits.averages || !node.op->linear_in.empty());
}

// The tensors that only lead to the tensors of `wide`, or straight to a softmax.
PerTensor<bool> leads_to_loss(const Graph& graph, const std::vector<TensorId>& wide) {
  PerTensor<bool> is_wide(graph.tensors().size(), false), is_read(graph.tensors().size(), false),
      is_narrow(graph.tensors().size(), false);
  const Nodes& nodes = graph.nodes();
  for (size_t n = nodes.size(); n-- > 0;) {
    const Node& node = nodes[n];
    bool all_wide = !node.results.empty();
    for (const TensorId id : node.results) {
      is_wide[id] = std::find(wide.begin(), wide.end(), id) != wide.end() || (is_read[id] && !is_narrow[id]);
      all_wide = all_wide && is_wide[id];
    }
    const bool reads_logits = node.kind == NodeKind::kComposite && node.composite->reads_logits;
    const bool passes_on =
        all_wide && (node.kind == NodeKind::kOp || node.kind == NodeKind::kComposite) && !is_product(node);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      is_read[node.operands[i]] = true;
      const bool is_differentiated = node.kind == NodeKind::kGradients && i == 0;
      if (!passes_on && !is_differentiated && !(reads_logits && i == 0)) is_narrow[node.operands[i]] = true;
    }
  }
  return is_wide;
}

// The tensors that products alone read, perhaps after operations that only change single elements.
PerTensor<bool> leads_to_products(const Graph& graph) {
  PerTensor<bool> leads(graph.tensors().size(), false), is_read_otherwise(graph.tensors().size(), false);
  const Nodes& nodes = graph.nodes();
  for (size_t n = nodes.size(); n-- > 0;) {
    const Node& node = nodes[n];
    const bool is_of_elements =
        (node.kind == NodeKind::kOp && (is_elementwise(*node.op) || node.op->family == Family::kRelabel)) ||
        (node.kind == NodeKind::kComposite && node.composite->in_evaluation != kAsInTraining);
    bool only_to_products = is_product(node);
    if (is_of_elements)
      only_to_products = std::all_of(node.results.begin(), node.results.end(),
                                     [&](TensorId id) { return leads[id] && !is_read_otherwise[id]; });
    for (const TensorId id : node.operands) (only_to_products ? leads : is_read_otherwise)[id] = true;
  }
  for (const TensorId id : leads.ids()) leads[id] = leads[id] && !is_read_otherwise[id];
  return leads;
}

using DTypes = std::map<std::string_view, DType>;  // of variables by their names

// Builds one graph anew.
class MixedGraph {
 public:
  MixedGraph(const Graph& graph, const Precision& precision, const DTypes& variables,
             const std::vector<TensorId>& wide)
      : from_(graph),
        precision_(precision),
        variables_(variables),
        wide_(leads_to_loss(graph, wide)),
        to_products_(leads_to_products(graph)),
        map_(graph.tensors().size(), kNoTensor) {
    if (precision.tensors.empty()) return;
    for (const auto& [name, id] : graph.aliases()) further_names_.emplace(id, name);
  }

  void build() {
    for (const Node& node : from_.nodes()) {
      b_.set_origin(node.origin);
      add(node);
      for (const TensorId id : node.results) b_.mark_from_model(map_[id], from_.tensor(id).from_model);
    }
  }

  /// The tensor of the new graph, in its dtype there or in `dtype`.
  TensorId at(TensorId old) const { return map_[old]; }
  TensorId at(TensorId old, DType dtype) { return as(map_[old], dtype); }

  Graph take() && {
    for (const auto& [name, id] : from_.aliases())
      if (b_.is_free(name)) b_.alias(map_[id], name);
    return std::move(b_).build();
  }

 private:
  Role role(TensorId id) const { return roles_[id.index()]; }

  // Every tensor of the new graph gets its role when it is made.
  void set_role(TensorId id, Role role) {
    roles_.resize(b_.graph().tensors().size(), Role::kOther);
    roles_[id.index()] = role;
  }

  bool mixes(TensorId id) const {
    return b_.type(id).dtype == DType::kF32 || b_.type(id).dtype == DType::kBF16;
  }

  // The tensor in `dtype`, cast once for all that ask.
  TensorId as(TensorId id, DType dtype) {
    if (!mixes(id) || b_.type(id).dtype == dtype) return id;
    TensorId& made = casts_[{id, dtype}];
    if (made != kNoTensor) return made;
    const SharedOrigin here = b_.origin();
    b_.set_origin(b_.graph().producer(id).origin);
    const std::optional<double> value = b_.graph().constant_value(id);
    Attributes attributes = {{"dtype", dtype}};
    if (precision_.gradients == DType::kF32 && b_.graph().producer(id).kind == NodeKind::kVariable)
      attributes.set("keep_gradient", true);
    made =
        value ? b_.constant(within(*value, dtype), dtype)
              : b_.add(op_named("cast"), {id}, attributes, {free_name(b_.graph().tensor(id).name, dtype)})[0];
    b_.set_origin(here);
    set_role(made, dtype == DType::kBF16 ? Role::kActivation : Role::kWide);
    return made;
  }

  // A finite number that bf16 can't hold becomes the largest that it can: most often it stands for minus infinity.
  static double within(double value, DType dtype) {
    const bool may_exceed = dtype == DType::kBF16 && std::isfinite(value);
    return may_exceed ? std::clamp(value, -kLargestBf16, kLargestBf16) : value;
  }

  // A name that no tensor of the model has.
  std::string free_name(const std::string& of, DType dtype) const {
    std::string name = of + "/" + to_string(dtype);
    while (from_.find(name) != kNoTensor) name += "_";
    return name;
  }

  std::optional<DType> asked(const Node& node) const {
    for (const TensorId id : node.results)
      for (const TensorPrecision& tensor : precision_.tensors) {
        if (matches_name(tensor.pattern, from_.tensor(id).name)) return tensor.dtype;
        for (auto [at, end] = further_names_.equal_range(id); at != end; ++at)
          if (matches_name(tensor.pattern, at->second)) return tensor.dtype;
      }
    return std::nullopt;
  }

  // The dtype that the operation computes in, or nothing if its operands may stay as they are.
  std::optional<DType> computed(const Node& node, const std::vector<TensorId>& operands) const {
    if (const std::optional<DType> dtype = asked(node)) return dtype;
    if (is_product(node)) return DType::kBF16;
    const bool is_wide = adds_up(from_, node) || std::any_of(node.results.begin(), node.results.end(),
                                                             [&](TensorId id) { return wide_[id]; });
    bool has_activation = false, has_wide = is_wide;
    for (const TensorId id : operands) {
      has_activation = has_activation || role(id) == Role::kActivation;
      has_wide = has_wide || role(id) == Role::kWide;
    }
    if (has_wide) return DType::kF32;
    if (has_activation) return DType::kBF16;
    return std::nullopt;
  }

  // The role of results that are f32.
  Role role_of_f32(const Node& node, const std::vector<TensorId>& operands) const {
    const bool is_neutral = std::all_of(operands.begin(), operands.end(), [&](TensorId id) {
      return role(id) == Role::kNeutral || (!mixes(id) && b_.type(id).dtype != DType::kF64);
    });
    return is_neutral && !adds_up(from_, node) && !asked(node) ? Role::kNeutral : Role::kWide;
  }

  void add(const Node& node) {
    std::vector<TensorId> operands;
    for (const TensorId id : node.operands) operands.push_back(map_[id]);
    switch (node.kind) {
      case NodeKind::kInput:
      case NodeKind::kVariable:
        return add_leaf(node);
      case NodeKind::kGradients:
        return keep(
            node,
            b_.add_gradients(operands[0], {operands.begin() + 1, operands.end()}, from_.names(node.results)),
            Role::kWide);
      case NodeKind::kLoop:
        return add_loop(node, std::move(operands));
      case NodeKind::kOp:
      case NodeKind::kComposite:
        return add_operation(node, std::move(operands));
    }
  }

  void add_leaf(const Node& node) {
    TensorType type = from_.type(node.results[0]);
    const std::string& name = from_.tensor(node.results[0]).name;
    if (const auto declared = variables_.find(name); declared != variables_.end())
      type.dtype = declared->second;
    if (node.kind == NodeKind::kInput) return keep(node, {b_.add_input(name, type)}, Role::kNeutral);
    keep(node, {b_.add_variable(name, type)}, Role::kNeutral);
  }

  // Loops carry f32.
  void add_loop(const Node& node, std::vector<TensorId> operands) {
    for (size_t i = 0; i < operands.size(); ++i)
      operands[i] = as(operands[i], from_.type(node.operands[i]).dtype);
    auto mixed = std::make_shared<GraphLoop>(with_changed_parts(
        *node.loop, "", [&](EntryGraph part, const GraphLoop&) { return mixed_part(std::move(part)); }));
    keep(node, b_.add_loop(std::move(mixed), std::move(operands), from_.names(node.results)), Role::kWide);
  }

  EntryGraph mixed_part(EntryGraph part) const {
    MixedGraph mixed(part.graph, precision_, variables_, {});
    mixed.build();
    for (NamedTensor& output : part.outputs)
      output.tensor = mixed.at(output.tensor, part.graph.type(output.tensor).dtype);
    part.graph = std::move(mixed).take();
    return part;
  }

  // Gradients have the dtypes of what they are the gradients of, as others do.
  void add_custom(const Node& node, std::vector<TensorId> operands) {
    const CustomGradientCounts counts = custom_gradient_counts(node);
    const LoopPart& backward = *node.backward;
    std::vector<std::string> names;
    for (size_t i = 0; i < operands.size() + counts.results; ++i) names.push_back(leaf_name(i));
    DTypes leaves;
    for (size_t i = 0; i < names.size(); ++i)
      leaves.emplace(names[i], b_.type(operands[i < operands.size() ? i : i - operands.size()]).dtype);
    MixedGraph mixed(backward.graph, precision_, leaves, {});
    mixed.build();
    LoopPart part{{}, backward.results};
    for (size_t i = 0; i < counts.targets; ++i)
      part.results[i] = mixed.at(part.results[i], b_.type(operands[counts.results + i]).dtype);
    part.graph = std::move(mixed).take();
    keep(node,
         add_custom_gradient(b_, {counts, std::make_shared<const LoopPart>(std::move(part))},
                             std::move(operands), from_.names(node.results)),
         Role::kNeutral);
  }

  void add_operation(const Node& node, std::vector<TensorId> operands) {
    if (node.backward) return add_custom(node, std::move(operands));
    const std::optional<DType> dtype = computed(node, operands);
    const bool stays = node.kind == NodeKind::kOp && node.op->traits.converts;
    Attributes attributes = node.attributes;
    if (dtype && !stays) {
      for (TensorId& operand : operands) operand = as(operand, *dtype);
      // The sums of products are f32 already, before they are rounded.
      if (is_product(node) && *dtype == DType::kBF16 && wants_f32(node) &&
          node.op->family == Family::kContraction && b_.type(operands[0]).dtype == DType::kBF16)
        attributes.set("dtype", DType::kF32);
    }
    const Role role = role_of_f32(node, operands);
    // The tensor becomes bf16 right behind the operation: an activation that is made of variables alone, and a
    // distribution that products take.
    const bool is_gathered = node.kind == NodeKind::kOp && node.op->family == Family::kIndexing &&
                             role == Role::kNeutral && node.operands.size() > 1 && !wants_f32(node) &&
                             from_.type(node.results[0]).dtype == DType::kF32;
    const bool is_weights = node.kind == NodeKind::kComposite && node.composite->gives_distribution &&
                            to_products_[node.results[0]] && !asked(node) &&
                            b_.type(operands[0]).dtype == DType::kF32;
    const bool is_rounded = is_gathered || is_weights;
    std::vector<std::string> names = from_.names(node.results);
    if (is_rounded) names = {free_name(names[0], DType::kF32)};
    const std::vector<TensorId> results =
        node.op ? b_.add(*node.op, std::move(operands), std::move(attributes), names)
                : b_.add(*node.composite, std::move(operands), std::move(attributes), names);
    keep(node, results, role);
    if (!is_rounded) return;
    map_[node.results[0]] = as(results[0], DType::kBF16);
    b_.name(map_[node.results[0]], from_.tensor(node.results[0]).name);
  }

  // True if the node's result is f32 where its operands are bf16.
  bool wants_f32(const Node& node) const {
    const std::optional<DType> dtype = asked(node);
    return dtype ? *dtype == DType::kF32 : wide_[node.results[0]];
  }

  void keep(const Node& node, const std::vector<TensorId>& results, Role role_of_f32) {
    for (size_t i = 0; i < results.size(); ++i) {
      map_[node.results[i]] = results[i];
      const DType dtype = b_.type(results[i]).dtype;
      set_role(results[i], dtype == DType::kBF16  ? Role::kActivation
                           : dtype == DType::kF32 ? role_of_f32
                                                  : Role::kOther);
    }
  }

  const Graph& from_;
  std::multimap<TensorId, std::string> further_names_;  // of its tensors, where precision is stated for some
  const Precision& precision_;
  const DTypes& variables_;
  const PerTensor<bool> wide_, to_products_;
  PerTensor<TensorId> map_;
  GraphBuilder b_;
  std::vector<Role> roles_;  // of the tensors of the new graph
  std::map<std::pair<TensorId, DType>, TensorId> casts_;
};

// Outputs without names, the loss and the logits, stay f32, and variables are assigned tensors of their dtypes.
EntryGraph mixed_entry(EntryGraph entry, const Precision& precision, const DTypes& variables) {
  std::vector<TensorId> wide;
  for (const NamedTensor& output : entry.outputs)
    if (output.name.empty()) wide.push_back(output.tensor);
  MixedGraph mixed(entry.graph, precision, variables, wide);
  mixed.build();
  for (Assignment& assignment : entry.assignments)
    assignment.value = mixed.at(assignment.value, variables.at(assignment.variable));
  for (NamedTensor& output : entry.outputs)
    output.tensor = output.name.empty() ? mixed.at(output.tensor, entry.graph.type(output.tensor).dtype)
                                        : mixed.at(output.tensor);
  entry.graph = std::move(mixed).take();
  return entry;
}

}  // namespace

Model mix_precision(Model model, const Precision& precision) {
  std::vector<EntryGraph> graphs = graphs_of(model);
  DTypes variables;
  for (const VariableDecl& variable : model.variables) variables.emplace(variable.name, variable.type.dtype);
  if (model.decode)
    for (VariableDecl& cache : model.decode->caches) {
      if (cache.type.dtype == DType::kF32) cache.type.dtype = DType::kBF16;
      variables.emplace(cache.name, cache.type.dtype);
    }
  for (EntryGraph& entry : graphs) entry = mixed_entry(std::move(entry), precision, variables);
  set_graphs(model, std::move(graphs));
  return model;
}

}  // namespace mtfc
