#include <algorithm>
#include <cstdint>

#include "core/op_rules/example.h"
#include "core/op_rules/indexing.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::gather_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_indices(call);
  const Dim& dim = call.attributes.get<Dim>("dim");
  const Dims& table = call.operands[0].dims;
  require_known({dim}, table, "the table " + to_string(call.operands[0]), "dim");
  Dims dims = call.operands[1].dims;
  for (const Dim& own : table)
    if (own.name != dim.name && !contains(dims, own.name)) dims.push_back(own);
  return {{call.operands[0].dtype, dims}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const std::string& indexed = call.attributes.get<Dim>("dim").name;
  const Dims& table = call.operands[0].dims;
  // If the table is split along the indexed dimension, each device contributes the elements that it holds.
  std::vector<Factor> factors = {
      {Factor::Kind::kReduce, {position(table, indexed), -1}, {-1}, ReduceKind::kSum}};
  for (const Dim& dim : results[0].dims) {
    Factor pass = factor(dim.name, Factor::Kind::kPass, call, results);
    pass.operands[0] = batch_position(table, dim.name, indexed);
    factors.push_back(pass);
  }
  return factors;
}

// True if the indices have exactly the table's other dimensions, so that each combination of these picks one
// element, as labels pick from logits.
bool picks_one_each(const Dims& table, const Dims& indices, const Dim& dim) {
  const Dims others = without(table, {dim});
  return others.size() == indices.size() && std::all_of(others.begin(), others.end(), [&](const Dim& own) {
           return contains(indices, own.name);
         });
}

// The gradient at the chosen elements and 0 elsewhere. It is computed element by element, so that it fuses
// with the operations that follow.
TensorId spread_to_chosen(GraphBuilder& b, const Node& node, TensorId gradient) {
  const Dim& dim = node.attributes.get<Dim>("dim");
  const TensorId table = node.operands[0], indices = node.operands[1];
  const Attributes order = {{"dims", b.dims(table)}};
  TensorId checked = b.op("checked_index", {indices}, {{"dim", dim}});
  // The dimension may have more elements than an i32 index can name.
  const bool wide = dim.size > INT32_MAX;
  if (wide) checked = b.op("cast", {checked}, {{"dtype", DType::kI64}});
  const TensorId numbers = b.op("range", {}, {{"dim", dim}, {"dtype", b.type(checked).dtype}});
  const TensorId chosen = b.op("equal", {numbers, checked}, order);
  return b.op("where", {chosen, gradient, b.constant(0, b.type(table).dtype)}, order);
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId table = node.operands[0];
  if (!is_float(b.type(table).dtype)) return {kNoTensor, kNoTensor};
  const Dims dims = b.dims(table);
  const Dim& dim = node.attributes.get<Dim>("dim");
  if (picks_one_each(dims, b.dims(node.operands[1]), dim))
    return {spread_to_chosen(b, node, gradients[0]), kNoTensor};
  return {b.op("scatter_add", {gradients[0], node.operands[1]},
               {{"dim", node.attributes.get<Dim>("dim")}, {"dims", dims}}),
          kNoTensor};
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand table, ExampleOperand index, std::string_view dim) {
    return Example{{std::move(table), std::move(index)}, {{"dim", dim_of(dim)}}};
  };
  return {
      use(normal("vocab=7 model=3"), indices("batch=5", 7), "vocab=7"),
      use(normal("model=3 vocab=7"), indices("batch=5 length=2", 7), "vocab=7"),
      use(normal("vocab=7", DType::kF32), indices("batch=5", 7, DType::kI64), "vocab=7"),
      use(normal("batch=5 classes=7"), indices("batch=5", 7), "classes=7"),
      use(normal("classes=7 model=3 batch=5"), indices("length=2 batch=5", 7), "classes=7"),
      use(normal("rows=7 model=3"), indices("rows=7", 7), "rows=7"),
      use(normal("batch=5 rows=7"), indices("rows=7 batch=5", 7), "rows=7"),
      use(normal("vocab=7 model=3"), indices("", 7), "vocab=7"),
      use(steps("vocab=7 model=3", DType::kI32), indices("batch=5", 7), "vocab=7"),
  };
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "gather",
            .doc = "The slices of a table at indices along one of its dimensions; the result has the "
                   "indices' dimensions, then the table's remaining ones, and dimensions that both have are "
                   "batch dimensions.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kIndexedDim},
            .own_dtypes = {{1, DType::kI32}},
            .infer = infer,
            .examples = examples(),
            .worked = {worked(
                {known("vocab=3 model=2", {1, 2, 3, 4, 5, 6}), known("batch=2", {2, 0}, DType::kI32)},
                {{"dim", dim_of("vocab=3")}}, {{5, 6, 1, 2}})},
        },
    .family = Family::kIndexing,
    .roles = roles,
    .linear_in = {{0}},
    .gradient = gradient,
    .flops = no_flops,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.position_operand = 1},
};

}  // namespace mtfc::gather_op
