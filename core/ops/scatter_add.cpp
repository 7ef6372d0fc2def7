#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/indexing.h"

namespace mtfc::scatter_add_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_indices(call);
  require_numbers_in_table(call);
  require_weights(call);
  const Dim& dim = call.attributes.get<Dim>("dim");
  const Dims &updates = call.operands[0].dims, &index = call.operands[1].dims;
  const Dims slice = without(updates, index);
  if (contains(slice, dim.name))
    throw OpError{"the updates have the indexed dimension '" + dim.name + "', but the indices do not",
                  "rename one of the two", 0};
  Dims dims = unite({dim}, slice);
  if (call.attributes.has("dims")) {
    dims = call.attributes.get<Dims>("dims");
    require_distinct(dims, "dims");
    require_known(dims, unite({dim}, unite(updates, index)), "the updates or the indices", "dims");
    for (const Dim& needed : unite({dim}, slice))
      if (!contains(dims, needed.name))
        throw OpError{"'dims' must name '" + needed.name + "'", "", -1, "dims"};
  }
  return {{call.operands[0].dtype, dims}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const std::string& indexed = call.attributes.get<Dim>("dim").name;
  const Dims& table = results[0].dims;
  // A device that holds a part of the indexed dimension adds the updates whose indices fall there.
  std::vector<Factor> factors = {{Factor::Kind::kPass,
                                  std::vector<int>(call.operands.size(), -1),
                                  {position(table, indexed)},
                                  ReduceKind::kSum}};
  for (const Dim& dim : unite(call.operands[0].dims, call.operands[1].dims)) {
    const int kept = batch_position(table, dim.name, indexed);
    Factor own = factor(dim.name, kept < 0 ? Factor::Kind::kReduce : Factor::Kind::kPass, call, results);
    own.results[0] = kept;
    factors.push_back(own);
  }
  return factors;
}

// One addition for each element that is added, and one product if it has a weight.
int64_t flops(const LocalCall& call, std::span<const LocalType> results) {
  return (call.operands.size() > 2 ? 2 : 1) * picked_elements(results[0], call.operands[1], call.attributes);
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const TensorId updates = node.operands[0], indices = node.operands[1];
  std::vector<TensorId> found(node.operands.size(), kNoTensor);
  if (!is_float(b.type(updates).dtype)) return found;
  const Dims dims = b.dims(updates), index_dims = b.dims(indices);
  Attributes attributes = indexed_like(node.attributes);
  if (node.operands.size() > 2) {
    const TensorId of_weights = b.op("gather_dot", {gradients[0], indices, updates}, attributes);
    found[2] = reduce_to(b, of_weights, b.dims(node.operands[2]));
  }
  const Dims repeated = without(index_dims, dims);
  if (!repeated.empty()) attributes.set("over", repeated);
  std::vector<TensorId> operands = node.operands;
  operands[0] = gradients[0];
  found[0] = reduce_to(b, b.op("gather", operands, attributes), dims);
  return found;
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand updates, ExampleOperand index, std::string_view dim) {
    return Example{{std::move(updates), std::move(index)}, {{"dim", dim_of(dim)}}};
  };
  const auto to = [](ExampleOperand updates, ExampleOperand index, std::string_view dim,
                     std::string_view dims) {
    return Example{{std::move(updates), std::move(index)}, {{"dim", dim_of(dim)}, {"dims", dims_of(dims)}}};
  };
  return {
      use(normal("batch=5 model=3"), indices("batch=5", 7), "vocab=7"),
      use(normal("model=3 batch=5 length=2", DType::kF32), indices("length=2 batch=5", 7), "vocab=7"),
      to(normal("batch=5"), indices("batch=5", 7, DType::kI64), "classes=7", "batch=5 classes=7"),
      to(normal("length=2 batch=5 model=3"), indices("length=2 batch=5", 7), "classes=7",
         "model=3 classes=7 batch=5"),
      to(normal("rows=7 model=3"), indices("rows=7", 7), "rows=7", "model=3 rows=7"),
      to(normal("rows=7 batch=5"), indices("rows=7 batch=5", 7), "rows=7", "batch=5 rows=7"),
      use(normal("model=3"), indices("", 7), "vocab=7"),
      use(steps("batch=5 model=3", DType::kI32), indices("batch=5", 7), "vocab=7"),
      use(normal("batch=5 model=3"), indices("batch=5 choice=2", 7), "vocab=7"),
      weighted(use(normal("batch=5 model=3"), indices("choice=2 batch=5", 7), "vocab=7")),
      weighted(use(normal("batch=5", DType::kF32), indices("batch=5", 7, DType::kI64), "classes=7")),
      weighted(to(normal("batch=5 model=3"), indices("batch=5 choice=2", 7), "vocab=7",
                  "vocab=7 choice=2 model=3")),
      skipping(weighted(to(normal("batch=5 model=3"), indices("batch=5 choice=2", 7), "vocab=5",
                           "batch=5 vocab=5 model=3"))),
      skipping(use(steps("batch=5 model=3", DType::kI32), indices("batch=5", 7), "vocab=3")),
  };
}

}  // namespace

extern const OpDef kOp = indexing({
    .name = "scatter_add",
    .doc = "A table of zeros to which each update is added at its index along `dim`, times its weight in the "
           "third operand if there is one; updates are repeated along dimensions of the indices that they "
           "lack. The transpose of gather.",
    .min_operands = 2,
    .max_operands = 3,
    .attributes = {kIndexedDim,
                   {"dims", AttributeType::kDims, false,
                    "the dimensions of the result; dimensions of the indices among them are batch "
                    "dimensions; default: `dim`, then those of the updates that the "
                    "indices lack"},
                   kSkipOutside},
    .own_dtypes = {{1, DType::kI32}},
    .infer = infer,
    .examples = examples(),
    .worked = {worked({known("batch=3", {1, 2, 4}), known("batch=3", {2, 0, 2}, DType::kI32)},
                      {{"dim", dim_of("vocab=4")}}, {{2, 0, 5, 0}}),
               worked({known("batch=2", {1, 2}), known("batch=2 choice=2", {2, 0, 2, 1}, DType::kI32),
                       known("batch=2 choice=2", {10, 20, 30, 40})},
                      {{"dim", dim_of("vocab=4")}}, {{20, 80, 70, 0}})},
    .roles = roles,
    .linear_in = {{0}, {2}},
    .gradient = gradient,
    .flops = flops,
    .traits = {.in_f32 = true},
});

}  // namespace mtfc::scatter_add_op
