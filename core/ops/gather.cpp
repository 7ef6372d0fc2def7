#include <algorithm>
#include <cstdint>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/indexing.h"

namespace mtfc::gather_op {
namespace {

// The dimensions of the indices to add up along.
Dims over_dims(const OpCall& call) {
  if (!call.attributes.has("over")) return {};
  const Dims& over = call.attributes.get<Dims>("over");
  require_known(over, call.operands[1].dims, "the indices " + to_string(call.operands[1]), "over");
  require_distinct(over, "over");
  return over;
}

std::vector<TensorType> infer(const OpCall& call) {
  require_indices(call);
  // Bools are picked, but not added up or weighted.
  if (call.operands.size() > 2 || call.attributes.has("over")) require_numbers_in_table(call);
  require_weights(call);
  const Dim& dim = call.attributes.get<Dim>("dim");
  const Dims &table = call.operands[0].dims, &indices = call.operands[1].dims;
  require_known({dim}, table, "the table " + to_string(call.operands[0]), "dim");
  return {{call.operands[0].dtype,
           unite(without(indices, over_dims(call)), slice_dims(table, indices, dim.name))}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const std::string& indexed = call.attributes.get<Dim>("dim").name;
  const Dims &table = call.operands[0].dims, &indices = call.operands[1].dims;
  // If the table is split along the indexed dimension, each device contributes the elements that it holds, and zeros
  // for the others.
  const ReduceKind reduce = call.operands[0].dtype == DType::kBool ? ReduceKind::kMax : ReduceKind::kSum;
  Factor held{Factor::Kind::kReduce, std::vector<int>(call.operands.size(), -1), {-1}, reduce};
  held.operands[0] = position(table, indexed);
  std::vector<Factor> factors = {held};
  const Dims over = over_dims(call);
  for (const Dim& dim : unite(indices, slice_dims(table, indices, indexed))) {
    const auto kind = contains(over, dim.name) ? Factor::Kind::kReduce : Factor::Kind::kPass;
    Factor own = factor(dim.name, kind, call, results);
    own.operands[0] = batch_position(table, dim.name, indexed);
    factors.push_back(own);
  }
  return factors;
}

// One addition for each element that is added up, and one product if it has a weight.
int64_t flops(const LocalCall& call, std::span<const LocalType>) {
  const int64_t each = (call.operands.size() > 2 ? 1 : 0) + (call.attributes.has("over") ? 1 : 0);
  return each * picked_elements(call.operands[0], call.operands[1], call.attributes);
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
  const bool skips = node.attributes.get_or("skip_outside", false);
  TensorId checked = skips ? indices : b.op("checked_index", {indices}, {{"dim", dim}});
  // The dimension may have more elements than an i32 index can name.
  const bool wide = dim.size > INT32_MAX;
  if (wide) checked = b.op("cast", {checked}, {{"dtype", DType::kI64}});
  const TensorId numbers = b.op("range", {}, {{"dim", dim}, {"dtype", b.type(checked).dtype}});
  const TensorId chosen = b.op("equal", {numbers, checked}, order);
  return b.op("where", {chosen, gradient, b.constant(0, b.type(table).dtype)}, order);
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId table = node.operands[0], indices = node.operands[1];
  std::vector<TensorId> found(node.operands.size(), kNoTensor);
  if (!is_float(b.type(table).dtype)) return found;
  const Dims dims = b.dims(table);
  const Dim& dim = node.attributes.get<Dim>("dim");
  const bool is_plain = node.operands.size() == 2 && !node.attributes.has("over");
  if (is_plain && picks_one_each(dims, b.dims(indices), dim)) {
    found[0] = spread_to_chosen(b, node, gradients[0]);
    return found;
  }
  Attributes attributes = indexed_like(node.attributes);
  if (node.operands.size() > 2) {
    const TensorId of_weights = b.op("gather_dot", {table, indices, gradients[0]}, attributes);
    found[2] = reduce_to(b, of_weights, b.dims(node.operands[2]));
  }
  std::vector<TensorId> operands = node.operands;
  operands[0] = gradients[0];
  attributes.set("dims", dims);
  found[0] = b.op("scatter_add", operands, attributes);
  return found;
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand table, ExampleOperand index, std::string_view dim) {
    return Example{{std::move(table), std::move(index)}, {{"dim", dim_of(dim)}}};
  };
  const auto added = [](Example example, std::string_view over) {
    example.attributes.set("over", dims_of(over));
    return example;
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
      use(flags("vocab=7 model=3"), indices("batch=5", 7), "vocab=7"),
      skipping(use(flags("batch=5 classes=3"), indices("batch=5", 7), "classes=3")),
      added(use(normal("vocab=7 model=3"), indices("batch=5 choice=2", 7), "vocab=7"), "choice=2"),
      weighted(added(use(normal("vocab=7 model=3"), indices("batch=5 choice=2", 7), "vocab=7"), "choice=2")),
      weighted(use(normal("model=3 vocab=7"), indices("batch=5", 7), "vocab=7")),
      weighted(added(use(normal("batch=5 vocab=7 model=3"), indices("choice=2 batch=5", 7), "vocab=7"),
                     "choice=2 batch=5")),
      weighted(added(use(normal("rows=7 batch=3"), indices("rows=7 batch=3", 7), "rows=7"), "rows=7")),
      weighted(skipping(use(normal("vocab=5 model=3"), indices("batch=5", 7), "vocab=5"))),
      skipping(use(normal("batch=5 classes=3"), indices("batch=5", 7), "classes=3")),
  };
}

}  // namespace

extern const OpDef kOp = indexing({
    .name = "gather",
    .doc = "The slices of a table at indices along one of its dimensions, each times its weight in the third "
           "operand if there is one; the result has the indices' dimensions, then the table's remaining "
           "ones, and dimensions that both have are batch dimensions.",
    .min_operands = 2,
    .max_operands = 3,
    .attributes = {kIndexedDim,
                   {"over", AttributeType::kOver, false,
                    "dimensions of the indices to add the slices up along; default: none"},
                   kSkipOutside},
    .own_dtypes = {{1, DType::kI32}},
    .infer = infer,
    .examples = examples(),
    .worked = {worked({known("vocab=3 model=2", {1, 2, 3, 4, 5, 6}), known("batch=2", {2, 0}, DType::kI32)},
                      {{"dim", dim_of("vocab=3")}}, {{5, 6, 1, 2}}),
               worked({known("vocab=3 model=2", {1, 2, 3, 4, 5, 6}), known("choice=2", {2, 0}, DType::kI32),
                       known("choice=2", {10, 100})},
                      {{"dim", dim_of("vocab=3")}, {"over", dims_of("choice=2")}}, {{150, 260}})},
    .roles = roles,
    .linear_in = {{0}, {2}},
    .gradient = gradient,
    .flops = flops,
    .traits = {.reads_stored = ReadsStored::kPicks, .position_operand = 1},
});

}  // namespace mtfc::gather_op
