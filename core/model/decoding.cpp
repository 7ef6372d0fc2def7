#include "core/model/decoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/diagnostics/suggest.h"
#include "core/graph/entry_graph.h"
#include "core/graph/reachability.h"

namespace mtfc {
namespace {

// The number of places that the caches of one sequence have for each position.
int64_t places_per_position(const DecodeSpec& decode) {
  for (const InputDecl& input : decode.inputs)
    if (input.name == kTokenInput && input.type.dims.size() > 1) return input.type.dims[1].size;
  return 1;
}

// The tensors of the model's graph that `caches` hold or begin with, and all that they are made from.
template <typename CacheTensor>
PerTensor<bool> needed_for(const Graph& graph, const std::vector<CacheTensor>& caches) {
  PerTensor<bool> needed(graph.tensors().size(), false);
  for (const CacheTensor& cache : caches) needed[cache.tensor] = true;
  return with_ancestors(graph, std::move(needed));
}

std::vector<InputDecl> needed_inputs(const Model& model, const PerTensor<bool>& needed) {
  std::vector<InputDecl> inputs;
  for (const InputDecl& input : model.inputs)
    if (const TensorId tensor = model.graph.find(input.name); tensor != kNoTensor && needed[tensor])
      inputs.push_back(input);
  return inputs;
}

// Removes from the model all that only training and evaluation run, and from its graph all but the variables and what
// `caches`, of its decode, need.
template <typename CacheTensor>
void reduce(Model& model, std::vector<CacheTensor>& caches) {
  const PerTensor<bool> needed = needed_for(model.graph, caches);
  model.inputs = needed_inputs(model, needed);
  EntryGraph entry{.name = "reduced", .graph = std::move(model.graph), .outputs = {}, .assignments = {}};
  for (const CacheTensor& cache : caches) entry.outputs.push_back({cache.cache, cache.tensor});
  const auto replace = [&](GraphBuilder&, const Node& node, const TensorIds&) -> Replaced {
    const auto is_needed = [&](TensorId id) { return needed[id]; };
    if (node.kind == NodeKind::kVariable || std::any_of(node.results.begin(), node.results.end(), is_needed))
      return std::nullopt;
    return std::vector<TensorId>(node.results.size(), kNoTensor);
  };
  const EntryGraph reduced = rewritten(entry, replace);
  model.graph = reduced.graph;
  for (size_t i = 0; i < reduced.outputs.size(); ++i) caches[i].tensor = reduced.outputs[i].tensor;
  model.assignments.clear();
  model.train.reset();
  model.outputs.clear();
  model.train_outputs.clear();
  model.is_reduced = true;
}

// Compares the attributes of two models' operations.
class LengthComparison {
 public:
  LengthComparison(int64_t many, int64_t few) : many_(many), few_(few) {}

  bool alike(int64_t longer, int64_t shorter) const {
    return longer == shorter || (longer == many_ && shorter == few_);
  }
  bool alike(const Dim& longer, const Dim& shorter) const {
    return longer.name == shorter.name && alike(longer.size, shorter.size);
  }
  bool alike(const Renaming& longer, const Renaming& shorter) const {
    return longer.from == shorter.from && alike(longer.to, shorter.to);
  }
  template <typename T>
  bool alike(const std::vector<T>& longer, const std::vector<T>& shorter) const {
    return std::equal(longer.begin(), longer.end(), shorter.begin(), shorter.end(),
                      [&](const T& a, const T& b) { return alike(a, b); });
  }
  template <typename T>
  bool alike(const T& longer, const T& shorter) const {
    return longer == shorter;
  }
  bool alike(const AttributeValue& longer, const AttributeValue& shorter) const {
    return longer.index() == shorter.index() && std::visit(
                                                    [&](const auto& a) {
                                                      using T = std::decay_t<decltype(a)>;
                                                      return alike(a, std::get<T>(shorter));
                                                    },
                                                    longer);
  }
  bool alike(const Attributes& longer, const Attributes& shorter) const {
    const Attributes::Entries &a = longer.entries(), &b = shorter.entries();
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& one, const auto& other) {
      return one.first == other.first && alike(one.second, other.second);
    });
  }
  bool alike(const Node& longer, const Node& shorter) const {
    return longer.kind == shorter.kind && longer.op == shorter.op && longer.composite == shorter.composite &&
           longer.operands == shorter.operands && longer.results == shorter.results && !longer.loop &&
           !shorter.loop && alike(longer.attributes, shorter.attributes);
  }

 private:
  int64_t many_, few_;
};

}  // namespace

bool differ_in_length_alone(const Model& longer, const Model& shorter, int64_t many, int64_t few) {
  const LengthComparison comparison(many, few);
  const Graph from = only_prompt(longer).graph, to = only_prompt(shorter).graph;
  return std::equal(from.nodes().begin(), from.nodes().end(), to.nodes().begin(), to.nodes().end(),
                    [&](const Node& a, const Node& b) {
                      if (!comparison.alike(a, b)) return false;
                      // Variables and inputs have no attributes, and each tensor has the sizes that its type says.
                      // Weights are the same in both.
                      for (const TensorId id : a.results)
                        if (a.kind == NodeKind::kVariable && from.type(id) != to.type(id)) return false;
                      for (const TensorId id : a.results)
                        if (from.type(id).dtype != to.type(id).dtype ||
                            !comparison.alike(from.type(id).dims, to.type(id).dims))
                          return false;
                      return true;
                    });
}

const TensorType& token_type(const DecodeSpec& decode) {
  const InputDecl* token = find_named(decode.inputs, kTokenInput);
  check_invariant(token != nullptr, "decode has no token");
  return token->type;
}

int64_t decode_positions(const DecodeSpec& decode) {
  int64_t positions = std::numeric_limits<int64_t>::max();
  for (const InputDecl& input : decode.inputs)
    if (input.name == kSeenInput) positions = input.type.dims.back().size / places_per_position(decode);
  const TensorId position = decode.graph.find(kPositionInput);
  for (const Node& node : decode.graph.nodes()) {
    if (node.kind != NodeKind::kOp || node.op->traits.position_operand < 0) continue;
    const auto operand = static_cast<size_t>(node.op->traits.position_operand);
    if (node.operands[operand] == position)
      positions = std::min(positions, node.attributes.get<Dim>("dim").size);
  }
  return positions;
}

bool reads_all_places(const DecodeSpec& decode, std::string_view places) {
  const auto lies_along = [&](TensorId id) {
    const TensorType& type = decode.graph.type(id);
    return is_float(type.dtype) && contains(type.dims, places);
  };
  return std::any_of(decode.graph.nodes().begin(), decode.graph.nodes().end(), [&](const Node& node) {
    if (node.loop) return true;
    const bool reads_some = node.op && (node.op->family == Family::kAttention || node.op->traits.overwrites);
    return !reads_some && std::any_of(node.operands.begin(), node.operands.end(), lies_along);
  });
}

std::vector<InputDecl> encode_inputs(const Model& model) {
  return needed_inputs(model, needed_for(model.graph, model.decode->held));
}

std::optional<Dim> prompt_positions(const Model& model, std::string& why) {
  const DecodeSpec& decode = *model.decode;
  why = decode.prompt_problem;
  if (!why.empty()) return std::nullopt;
  if (!decode.equals_model)
    why = "its decode gives other logits than the model itself";
  else if (!decode.held.empty())
    why = "its caches hold what an encoder gives";
  for (const Assignment& assignment : decode.assignments)
    if (std::none_of(decode.prompt.begin(), decode.prompt.end(),
                     [&](const PromptTensor& prompt) { return prompt.cache == assignment.variable; }))
      why = fmt::format("its cache '{}' names no tensor of the model by \"prompt\"", assignment.variable);
  if (decode.prompt.empty()) why = "it has no caches that a prompt could fill";
  if (!why.empty()) return std::nullopt;
  const std::vector<InputDecl> inputs = needed_inputs(model, needed_for(model.graph, decode.prompt));
  Dims sequences;
  for (const InputDecl& input : decode.inputs)
    if (input.name == kTokenInput && !input.type.dims.empty()) sequences = {input.type.dims[0]};
  if (inputs.size() == 1 && is_integer(inputs[0].type.dtype)) {
    const Dims positions = without(inputs[0].type.dims, sequences);
    const auto fits = [&](const PromptTensor& prompt) {
      const Dims& dims = model.graph.type(prompt.tensor).dims;
      return dims[static_cast<size_t>(position(dims, prompt.position))].size == positions.at(0).size;
    };
    if (positions.size() == 1 && inputs[0].type.dims.size() == sequences.size() + 1 &&
        std::all_of(decode.prompt.begin(), decode.prompt.end(), fits))
      return positions[0];
  }
  why =
      "the tensors that fill its caches do not depend on one input alone, with one position for each of its "
      "tokens";
  return std::nullopt;
}

Model only_decode(Model model) {
  reduce(model, model.decode->held);
  model.decode->prompt.clear();
  return model;
}

Model only_prompt(Model model) {
  reduce(model, model.decode->prompt);
  model.decode->held.clear();
  return model;
}

}  // namespace mtfc
