#include <cstdint>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/indexing.h"

namespace mtfc::count_before_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const TensorType& indices = call.operands[0];
  require_indices(call, 0);
  const Dims& over = call.attributes.get<Dims>("over");
  require_known(over, indices.dims, "the indices " + to_string(indices), "over");
  require_distinct(over, "over");
  int64_t counted = 1;
  for (const Dim& dim : over) counted *= dim.size;
  if (counted > INT32_MAX)
    throw OpError{"'over' names dimensions with too many elements for counts of type i32", "", -1, "over"};
  return {{DType::kI32, indices.dims}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const Dims& over = call.attributes.get<Dims>("over");
  std::vector<Factor> factors;
  for (const Dim& dim : results[0].dims)
    factors.push_back(factor(dim.name,
                             contains(over, dim.name) ? Factor::Kind::kNeedsReplication : Factor::Kind::kPass,
                             call, results));
  return factors;
}

// One counter for each index that there may be.
int64_t workspace(const LocalCall& call, std::span<const LocalType>) {
  return call.attributes.get<Dim>("dim").size * size_of(DType::kI32);
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand index, std::string_view dim, std::string_view over) {
    return Example{{std::move(index)}, {{"dim", dim_of(dim)}, {"over", dims_of(over)}}};
  };
  return {
      use(indices("batch=5 length=11", 3), "experts=3", "length=11"),
      use(indices("batch=5 length=7 choice=2", 3), "experts=3", "choice=2 length=7"),
      use(indices("length=7 choice=2", 3, DType::kI64), "experts=3", "length=7 choice=2"),
      use(indices("choice=2 batch=3 length=7", 2), "experts=2", "length=7"),
      use(indices("length=7", 5), "experts=5", "length=7"),
      skipping(use(indices("batch=5 length=7", 5), "experts=3", "batch=5 length=7")),
  };
}

}  // namespace

extern const OpDef kOp = indexing({
    .name = "count_before",
    .doc = "For each index, the number of equal ones that come before it along `over`: its place among "
           "those that picked the same.",
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension that the indices count along"},
                   {"over", AttributeType::kOver, true,
                    "the dimensions to count along; of several, the last one varies fastest"},
                   {"skip_outside", AttributeType::kFlag, false,
                    "whether an index outside of `dim`, such as -1, is not counted and gets 0; by "
                    "default it ends the run with an error"}},
    .own_dtypes = {{0, DType::kI32}},
    .infer = infer,
    .examples = examples(),
    .worked = {worked({known("tokens=3 choice=2", {2, 0, 2, 1, 0, 2}, DType::kI32)},
                      {{"dim", dim_of("experts=3")}, {"over", dims_of("choice=2 tokens=3")}},
                      {{0, 1, 1, 0, 0, 2}})},
    .roles = roles,
    .flops = operand_elements,
    .workspace = workspace,
});

}  // namespace mtfc::count_before_op
