#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/indexing.h"

namespace mtfc::one_hot_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType& indices = call.operands[0];
  const Dim& dim = call.attributes.get<Dim>("dim");
  require_indices(call, 0);
  if (contains(indices.dims, dim.name))
    throw OpError{"the indices " + to_string(indices) + " have the dimension '" + dim.name + "' already",
                  "rename it, or name another dimension", -1, "dim"};
  return {{call.attributes.get_or("dtype", DType::kF32), unite(indices.dims, {dim})}};
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand index, std::string_view dim) {
    return Example{{std::move(index)}, {{"dim", dim_of(dim)}}};
  };
  const auto typed = [](ExampleOperand index, std::string_view dim, DType dtype) {
    return Example{{std::move(index)}, {{"dim", dim_of(dim)}, {"dtype", dtype}}};
  };
  return {
      use(indices("batch=5", 7), "classes=7"),
      use(indices("batch=5 length=3", 2, DType::kI64), "classes=2"),
      typed(indices("length=3 batch=5", 7), "classes=7", DType::kF64),
      typed(indices("", 7), "classes=7", DType::kI32),
      typed(indices("batch=5", 3), "classes=3", DType::kI64),
      typed(indices("batch=2", 5), "classes=5", DType::kBool),
      use(indices("batch=5", 1), "classes=1"),
      skipping(use(indices("batch=5", 7), "classes=5")),
  };
}

}  // namespace

extern const OpDef kOp = indexing({
    .name = "one_hot",
    .doc = "1 at each index along a new last dimension, and 0 elsewhere.",
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension of the indices, appended last"},
                   {"dtype", AttributeType::kDType, false, "the dtype of the result; default: f32"},
                   kSkipOutside},
    .own_dtypes = {{0, DType::kI32}},
    .infer = infer,
    .examples = examples(),
    .worked = {worked({known("batch=2", {2, 0}, DType::kI32)}, {{"dim", dim_of("classes=3")}},
                      {{0, 0, 1, 1, 0, 0}})},
});

}  // namespace mtfc::one_hot_op
