#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::reshape_op {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const Dims& dims = call.attributes.get<Dims>("dims");
  require_distinct(dims, "dims");
  const Dims& from = call.operands[0].dims;
  if (elements(from) != elements(dims))
    throw OpError{fmt::format("[{}] has {} elements, but 'dims' [{}] has {}", to_string(from), elements(from),
                              to_string(dims), elements(dims)),
                  "", -1, "dims"};
  return {{call.operands[0].dtype, dims}};
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {b.op("reshape", {gradients[0]}, {{"dims", b.dims(node.operands[0])}})};
}

}  // namespace

extern const OpDef kOp = relabelling({
    .name = "reshape",
    .doc = "The same elements in the same row-major order, with other dimensions.",
    .attributes = {{"dims", AttributeType::kDims, true, "the dimensions of the result"}},
    .infer = infer,
    .examples = {{.operands = {normal("a=15 b=7")}, .attributes = {{"dims", dims_of("c=21 d=5")}}},
                 {.operands = {normal("a=5 b=6")}, .attributes = {{"dims", dims_of("a=5 c=2 d=3")}}},
                 {.operands = {normal("c=2 d=3 b=5", DType::kF32)},
                  .attributes = {{"dims", dims_of("e=6 b=5")}}},
                 {.operands = {normal("")}, .attributes = {{"dims", dims_of("one=1")}}},
                 {.operands = {steps("a=5 b=7", DType::kI32)}, .attributes = {{"dims", dims_of("e=35")}}}},
    .gradient = gradient,
});

}  // namespace mtfc::reshape_op
