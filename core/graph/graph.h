#pragma once
// A graph of operations on global tensors, before any division among devices. It is a value; only a
// GraphBuilder appends to it. Copies share their contents until one of them changes.
//
// Nodes are in order: operands come before their users. Leaves are inputs and variables; the leaf of a
// variable is its value at the start of the step. Passes read one graph and build another.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/diagnostics/enum_names.h"
#include "core/diagnostics/error.h"
#include "core/graph/attributes.h"
#include "core/graph/name_index.h"
#include "core/graph/op_def.h"
#include "core/tensors/shape.h"
#include "core/tensors/sharding.h"

namespace mtfc {

enum class Phase { kForward, kBackward, kUpdate };
template <>
inline constexpr auto kEnumNames<Phase> = std::to_array<EnumName<Phase>>({{Phase::kForward, "forward"},
                                                                          {Phase::kBackward, "backward"},
                                                                          {Phase::kUpdate, "update"}});

/// The origin of a node, used in messages and for the names of its results. Nodes share origins: a graph of many
/// nodes comes from few lines of a model, and every pass makes a new graph.
struct Origin {
  std::string name;  // prefix of generated names
  Location location;
  Phase phase = Phase::kForward;
  int region = 0;  // that is computed again for the backward pass (core/rewrite/recompute.h); 0: none
};
using SharedOrigin = std::shared_ptr<const Origin>;
/// The origin of nodes that nothing in a model has led to; never nullptr, like every other one.
const SharedOrigin& no_origin();

/// A rule for a part of the model, as it holds for one dimension of a tensor.
struct DimRule {
  size_t dim = 0;
  AxisList axes;     // major first
  std::string text;  // as in `batch:rows in moe/**`
  Location location;
};

/// The sharding that an annotation gives a tensor: the tensor is made in it, and whatever reads the tensor takes it
/// from there. The names of the dimensions are those of the tensor.
struct TensorAnnotation {
  Sharding sharding;
  std::string pattern;  // of the layout, or the tensor's name where the model states the sharding
  Location location;
  bool is_inherited = false;        // from the variable that the gradient or state belongs to
  bool is_by_rules = false;         // rules for a part of the model give it, and no annotation
  std::vector<DimRule> rules = {};  // the ones among these that decide, at most one for each dimension
};
using SharedAnnotation = std::shared_ptr<const TensorAnnotation>;
/// The rules for a part of the model whose axes a tensor without an annotation may take. All are offered; of several
/// for one dimension and axis, `explain` names the first.
using SharedRules = std::shared_ptr<const std::vector<DimRule>>;
/// A layout's statement on one tensor: how it is split, the axes that it may take, or nothing.
struct StatedLayout {
  SharedAnnotation annotation = nullptr;
  SharedRules offered = nullptr;
};

struct Tensor {
  std::string name;  // unique in the graph
  TensorType type;
  int node = 0;
  int result = 0;           // its index among the node's results
  bool from_model = false;  // named (or addressed by path) in the model file
  SharedAnnotation annotation = nullptr;
  SharedRules offered = nullptr;
};

enum class NodeKind {
  kInput,
  kVariable,
  kOp,         // node.op is set
  kComposite,  // node.composite is set; gone after expand_composites
  kGradients,  // operands: a scalar, then tensors; results: its gradients; gone after expand_gradients
  kLoop,       // node.loop is set
};

struct GraphLoop;
struct LoopPart;

struct Node {
  NodeKind kind = NodeKind::kOp;
  const OpDef* op = nullptr;
  const CompositeDef* composite = nullptr;
  std::vector<TensorId> operands = {};
  std::vector<TensorId> results = {};
  Attributes attributes = {};
  SharedOrigin origin = no_origin();
  std::shared_ptr<const GraphLoop> loop = nullptr;
  std::shared_ptr<const LoopPart> backward = nullptr;  // of a composite whose gradient the model states
};

inline bool is_leaf(const Node& node) {
  return node.kind == NodeKind::kInput || node.kind == NodeKind::kVariable;
}

/// A deque, as it grows without copies of itself, and can be emptied from the front while another one is built:
/// memory never holds both.
using Nodes = std::deque<Node>;

class Graph {
 public:
  const Nodes& nodes() const { return contents().nodes; }
  const PerTensor<Tensor>& tensors() const { return contents().tensors; }
  const Node& node(int id) const { return nodes()[static_cast<size_t>(id)]; }
  const Tensor& tensor(TensorId id) const { return tensors()[id]; }
  const TensorType& type(TensorId id) const { return tensor(id).type; }
  const Node& producer(TensorId id) const { return node(tensor(id).node); }
  /// The tensor of this name or alias, or kNoTensor.
  TensorId find(std::string_view name) const;
  std::vector<TensorType> types(const std::vector<TensorId>& ids) const;
  std::vector<std::string> names(const std::vector<TensorId>& ids) const;
  std::vector<TensorType> operand_types(const Node& node) const { return types(node.operands); }
  std::vector<TensorType> result_types(const Node& node) const { return types(node.results); }
  /// The value of a tensor made by a `constant`; nothing for any other tensor.
  std::optional<double> constant_value(TensorId id) const;
  /// Further names of tensors. For example, the block that computes a result and its user may name it
  /// differently.
  const std::vector<std::pair<std::string, TensorId>>& aliases() const { return contents().aliases; }

 private:
  struct Contents {
    Nodes nodes;
    PerTensor<Tensor> tensors;
    NameIndex index;
    std::vector<std::pair<std::string, TensorId>> aliases;
  };
  friend class GraphBuilder;
  friend Graph with_layout(Graph graph, const std::function<StatedLayout(const Tensor&)>& stated,
                           const std::function<GraphLoop(const GraphLoop&)>& loop);
  // The entries of the index: tensors as their numbers, aliases as negative ones.
  static int32_t alias_entry(size_t index) { return -1 - static_cast<int32_t>(index); }
  std::string_view name_of(int32_t entry) const;
  TensorId tensor_of(int32_t entry) const;
  const Contents& contents() const;
  // The contents, to be changed. No other graph has them from here on.
  Contents& own();

  std::shared_ptr<Contents> contents_;  // nullptr for a graph without nodes
};

/// A graph of its own inside a loop, or for a gradient that the model states (core/graph/custom_gradient.h). Its leaves
/// are inputs named by leaf_name.
struct LoopPart {
  Graph graph;
  std::vector<TensorId> results;
};

/// The contents of a loop node. The node's operands are the carried tensors, followed by tensors that are the
/// same in every round; operand i is the leaf leaf_name(i) of both parts. In each round, the first results of
/// `body` become the carried tensors of the next round; after the last round they are the node's first
/// results. The last `sums` results of the body are not carried but added up from zero, and the node's last
/// results are these sums over all rounds. A sum that is partial over devices is reduced once, after the
/// loop.
///
///   [s, x] -> loop { condition: s < 10; body: s + sum(x) } -> [s']
///   [i, x] -> loop { 4 times; body: i + 1, x[i]; 1 sum } -> [i', x[0] + x[1] + x[2] + x[3]]
struct GraphLoop {
  LoopPart condition;  // one bool scalar, computed before each round; empty if `times` is set
  LoopPart body;
  int64_t times = 0;
  size_t sums = 0;
  size_t carried() const { return body.results.size() - sums; }
  bool is_counted() const { return condition.results.empty(); }
};
std::string leaf_name(size_t operand);

/// The sets of operands that the node, an operation, is linear in (OpDef::linear_in).
std::vector<std::vector<int>> linear_sets(const Graph& graph, const Node& node);

/// `name: f32[batch=4] = add(x, y)`, one line per node; a loop is followed by its condition and body.
std::string to_string(const Graph& graph);
std::string to_string(const Graph& graph, const Node& node);

/// The graph with what `stated` says of each tensor, where it says something, and with the contents that `loop` gives
/// for each loop.
Graph with_layout(Graph graph, const std::function<StatedLayout(const Tensor&)>& stated,
                  const std::function<GraphLoop(const GraphLoop&)>& loop);

class GraphBuilder {
 public:
  const Graph& graph() const { return graph_; }
  const TensorType& type(TensorId id) const { return graph_.type(id); }
  const Dims& dims(TensorId id) const { return graph_.type(id).dims; }

  /// Sets the origin of the nodes added from now on. It is in the region that is open.
  void set_origin(Origin origin);
  void set_origin(SharedOrigin origin);
  const SharedOrigin& origin() const { return origin_; }
  /// Opens a region that is computed again for the backward pass, unless one is open. Returns the one that was open,
  /// for close_region().
  int open_region();
  void close_region(int open_before) { region_ = open_before; }

  /// From now on, every f32 and bf16 asked for becomes f64.
  void widen_floats() { widens_ = true; }
  DType widened(DType dtype) const { return widens_ && is_float(dtype) ? DType::kF64 : dtype; }

  TensorId add_input(const std::string& name, const TensorType& type);
  TensorId add_variable(const std::string& name, const TensorType& type);
  /// A scalar constant.
  TensorId constant(double value, DType dtype);
  /// Adds an operation and infers its results. Throws InternalError for a wrong use. `names` are the names of the
  /// results; missing ones are made from the origin's name and the operation, and made unique.
  std::vector<TensorId> add(const OpDef& op, std::vector<TensorId> operands, Attributes attributes = {},
                            const std::vector<std::string>& names = {});
  std::vector<TensorId> add(const CompositeDef& composite, std::vector<TensorId> operands,
                            Attributes attributes = {}, const std::vector<std::string>& names = {});
  /// The same for an operation as a model file has it: throws OpError for a wrong use.
  std::vector<TensorId> add_stated(const OpDef& op, std::vector<TensorId> operands, Attributes attributes,
                                   const std::vector<std::string>& names);
  std::vector<TensorId> add_stated(const CompositeDef& composite, std::vector<TensorId> operands,
                                   Attributes attributes, const std::vector<std::string>& names);
  /// Adds a gradients node: the gradients of the scalar `of` with respect to each of the tensors `in`.
  std::vector<TensorId> add_gradients(TensorId of, const std::vector<TensorId>& in,
                                      const std::vector<std::string>& names = {});
  /// Adds a loop over `operands`, the carried ones first. Its body must return these with the same types.
  std::vector<TensorId> add_loop(std::shared_ptr<const GraphLoop> loop, std::vector<TensorId> operands,
                                 const std::vector<std::string>& names = {});
  /// Gives the node that was added last its backward part.
  void set_backward(std::shared_ptr<const LoopPart> backward) {
    graph_.own().nodes.back().backward = std::move(backward);
  }
  /// The tensor in another dtype; itself if it has that one.
  TensorId cast(TensorId id, DType dtype);
  /// Adds an operation with one result.
  TensorId op(std::string_view kind, std::vector<TensorId> operands, Attributes attributes = {});

  /// Adds a copy of `node` of the graph `from` with new operands. Names and origin are kept.
  std::vector<TensorId> copy(const Graph& from, const Node& node, std::vector<TensorId> operands);
  /// Prepares for taking the nodes of a graph that is not needed any more, one by one. Nothing can be found in it
  /// by name from here on.
  void take_over(Graph& from);
  /// Moves the first node and its results out of such a graph. `map` gives the new ids of the node's operands, and
  /// is given those of its results.
  void take_first(Graph& from, PerTensor<TensorId>& map);
  void drop_first(Graph& from) { from.own().nodes.pop_front(); }
  /// Renames a tensor to a name of the model, which must be free or be the tensor's name already.
  void name(TensorId id, const std::string& name);
  /// Gives a tensor a further name, which must be free.
  void alias(TensorId id, const std::string& name);
  /// Sets whether the model file names the tensor.
  void mark_from_model(TensorId id, bool is = true) { graph_.own().tensors[id].from_model = is; }
  void annotate(TensorId id, SharedAnnotation annotation) {
    graph_.own().tensors[id].annotation = std::move(annotation);
  }
  void offer(TensorId id, SharedRules rules) { graph_.own().tensors[id].offered = std::move(rules); }
  bool is_free(std::string_view name) const { return graph_.find(name) == kNoTensor; }

  Graph build() &&;

 private:
  std::vector<TensorId> append(Node node, std::vector<TensorType> types,
                               const std::vector<std::string>& names, std::string_view kind);
  TensorId append_tensor(Tensor tensor);
  bool take_name(const std::string& name, TensorId id);
  std::vector<TensorType> inferred(const Signature& signature, Node& node);
  void make_unique(std::string& name, TensorId id);

  Graph graph_;
  SharedOrigin origin_ = no_origin();
  int region_ = 0, regions_ = 0;  // the open one, and how many there are
  bool widens_ = false;
  std::vector<TensorType> operand_types_;      // those of the last operation added: room for the next ones
  std::unordered_map<std::string, int> used_;  // how many times each generated name was asked for
};

}  // namespace mtfc
