#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/pieces.h"

namespace mtfc::shift_op {
namespace {

// result[i] = x[i - by]
std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const Dim& dim = call.attributes.get<Dim>("dim");
  const int64_t n = dim.size, by = call.attributes.get<int64_t>("by");
  std::vector<Piece> pieces;
  if (call.attributes.get_or("wrap", false)) {
    const int64_t forward = (by % n + n) % n;
    if (forward > 0) pieces.push_back({0, n - forward, 1, 0, 1, forward});
    pieces.push_back({0, 0, 1, forward, 1, n - forward});
  } else if (by >= 0 && by < n) {
    pieces.push_back({0, 0, 1, by, 1, n - by});
  } else if (by < 0 && by > -n) {
    pieces.push_back({0, -by, 1, 0, 1, n + by});
  }
  return piece_factors(call, results, {{dim.name}, dim.name, std::move(pieces)});
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const int64_t n = node.attributes.get<Dim>("dim").size, by = node.attributes.get<int64_t>("by");
  const bool wrap = node.attributes.get_or("wrap", false);
  // The smallest integer has no opposite; for shifts beyond the length only the sign matters.
  const int64_t back = wrap ? -(by % n) : by > n ? -n : by < -n ? n : -by;
  return {b.op("shift", {gradients[0]},
               {{"dim", node.attributes.get<Dim>("dim")}, {"by", back}, {"wrap", wrap}})};
}

Example use(ExampleOperand x, std::string_view dim, int64_t by, bool wrap) {
  return {{std::move(x)}, {{"dim", dim_of(dim)}, {"by", by}, {"wrap", wrap}}};
}

}  // namespace

extern const OpDef kOp = movement({
    .name = "shift",
    .doc = "The elements moved `by` places along a dimension; the vacated places are filled with "
           "zeros or with the elements that were moved out.",
    .attributes = {{"dim", AttributeType::kDim, true, "the dimension to move along"},
                   {"by", AttributeType::kInteger, true,
                    "the number of places; if negative, towards the start"},
                   {"wrap", AttributeType::kFlag, false,
                    "whether elements moved out at one end come in at the other; default: false"}},
    .infer = infer_moved,
    .examples = {use(normal("batch=5 length=7"), "length=7", 1, false),
                 use(normal("length=7 batch=5"), "length=7", 3, true),
                 use(normal("batch=5 length=11 model=3", DType::kF32), "length=11", -2, false),
                 use(normal("length=5"), "length=5", -13, true),
                 use(normal("length=5 a=3"), "length=5", 5, false),
                 use(steps("a=3 b=5", DType::kI32), "b=5", 4, true), use(flags("a=7"), "a=7", -6, false)},
    .worked = {worked({known("length=5", {1, 2, 3, 4, 5})},
                      {{"dim", dim_of("length=5")}, {"by", int64_t{2}}, {"wrap", false}}, {{0, 0, 1, 2, 3}})},
    .roles = roles,
    .gradient = gradient,
});

}  // namespace mtfc::shift_op
