#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/indexing.h"

namespace mtfc::gather_dot_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_indices(call);
  require_numbers_in_table(call);
  const Dim& dim = call.attributes.get<Dim>("dim");
  const TensorType &table = call.operands[0], &indices = call.operands[1], &with = call.operands[2];
  require_known({dim}, table.dims, "the table " + to_string(table), "dim");
  if (with.dtype != table.dtype)
    throw OpError{"the third operand is " + to_string(with) + ", but the table is " + to_string(table),
                  "use cast to make the dtypes agree", 2};
  const Dims slice = slice_dims(table.dims, indices.dims, dim.name);
  const auto describe = [&] { return "the third operand " + to_string(with); };
  for (const Dim& own : slice)
    if (!contains(with.dims, own.name))
      throw OpError{describe() + " lacks the table's dimension '" + own.name + "'", "use broadcast", 2};
  for (const Dim& own : with.dims)
    if (!contains(slice, own.name) && !contains(indices.dims, own.name))
      throw OpError{describe() + " has the dimension '" + own.name +
                        "', which neither the table's slices nor the indices have",
                    "rename it, or use reduce_sum", 2};
  return {{table.dtype, indices.dims}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const std::string& indexed = call.attributes.get<Dim>("dim").name;
  const Dims &table = call.operands[0].dims, &indices = call.operands[1].dims;
  // If the table is split along the indexed dimension, each device contributes the products with its slices.
  std::vector<Factor> factors = {
      {Factor::Kind::kReduce, {position(table, indexed), -1, -1}, {-1}, ReduceKind::kSum}};
  for (const Dim& dim : indices) {
    factors.push_back(factor(dim.name, Factor::Kind::kPass, call, results));
    factors.back().operands[0] = batch_position(table, dim.name, indexed);
  }
  for (const Dim& dim : slice_dims(table, indices, indexed))
    factors.push_back(factor(dim.name, Factor::Kind::kReduce, call, results));
  return factors;
}

int64_t flops(const LocalCall& call, std::span<const LocalType>) {
  return 2 * picked_elements(call.operands[0], call.operands[1], call.attributes);
}

// The gradient of the result is a weight of each slice.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId table = node.operands[0], indices = node.operands[1], with = node.operands[2];
  if (!is_float(b.type(table).dtype)) return {kNoTensor, kNoTensor, kNoTensor};
  const Dims dims = b.dims(with);
  Attributes of_table = indexed_like(node.attributes), of_with = of_table;
  of_table.set("dims", b.dims(table));
  const Dims repeated = without(b.dims(indices), dims);
  if (!repeated.empty()) of_with.set("over", repeated);
  const TensorId slices = b.op("gather", {table, indices, gradients[0]}, of_with);
  return {b.op("scatter_add", {with, indices, gradients[0]}, of_table), kNoTensor,
          reduce_to(b, slices, dims)};
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand table, ExampleOperand index, ExampleOperand with, std::string_view dim) {
    return Example{{std::move(table), std::move(index), std::move(with)}, {{"dim", dim_of(dim)}}};
  };
  return {
      use(normal("vocab=7 model=3"), indices("batch=5", 7), normal("batch=5 model=3"), "vocab=7"),
      use(normal("model=3 vocab=7"), indices("batch=5 choice=2", 7), normal("model=3 batch=5"), "vocab=7"),
      use(normal("batch=5 vocab=7 model=3"), indices("choice=2 batch=5", 7), normal("batch=5 model=3"),
          "vocab=7"),
      use(normal("vocab=7 a=3 b=2", DType::kF32), indices("batch=5", 7, DType::kI64),
          normal("b=2 a=3", DType::kF32), "vocab=7"),
      use(normal("rows=7 model=3"), indices("rows=7", 7), normal("rows=7 model=3"), "rows=7"),
      use(normal("batch=5 classes=7"), indices("batch=5", 7), normal("batch=5"), "classes=7"),
      use(normal("vocab=7 model=3"), indices("", 7), normal("model=3"), "vocab=7"),
      use(steps("vocab=7 model=3", DType::kI32), indices("batch=5", 7), steps("batch=5 model=3", DType::kI32),
          "vocab=7"),
      skipping(use(normal("vocab=3 model=2"), indices("batch=5", 7), normal("batch=5 model=2"), "vocab=3")),
  };
}

}  // namespace

extern const OpDef kOp = indexing({
    .name = "gather_dot",
    .doc = "The inner products of a table's slices at indices with those of a third operand, which is "
           "repeated along dimensions of the indices that it lacks: the gradient of gather and "
           "scatter_add with respect to weights.",
    .min_operands = 3,
    .max_operands = 3,
    .attributes = {kIndexedDim, kSkipOutside},
    .own_dtypes = {{1, DType::kI32}},
    .infer = infer,
    .examples = examples(),
    .worked = {worked({known("vocab=3 model=2", {1, 2, 3, 4, 5, 6}), known("batch=2", {2, 0}, DType::kI32),
                       known("batch=2 model=2", {10, 100, 1, 0})},
                      {{"dim", dim_of("vocab=3")}}, {{650, 1}})},
    .roles = roles,
    .linear_in = {{0}, {2}},
    .gradient = gradient,
    .flops = flops,
    .traits = {.multiplies = true, .in_f32 = true},
});

}  // namespace mtfc::gather_dot_op
