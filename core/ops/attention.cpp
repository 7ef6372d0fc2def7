#include "core/op_rules/attention.h"

#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::attention_gradient_op {
extern const OpDef kOp;
}
namespace mtfc::attention_bias_gradient_op {
extern const OpDef kOp;
}

namespace mtfc::attention_op {
namespace {

constexpr size_t kExtras = 3;

std::vector<TensorType> infer(const OpCall& call) {
  const AttentionDims dims = attention_dims(call);
  require_attention_extras(call, dims, kExtras);
  const TensorType& q = call.operands[0];
  return {{q.dtype, result_dims(q.dims, dims)}, per_query_type(q, dims)};
}

// Devices that each had a part of the elements of the values would all compute the same weights.
std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const AttentionDims dims = attention_dims(call);
  return with_near_memory(attention_factors(call, results,
                                            {{dims.batch, Factor::Kind::kPass},
                                             {dims.queries, Factor::Kind::kPass},
                                             {{dims.memory}, Factor::Kind::kNeedsReplication}}),
                          call, results);
}

// With p the weights before dropout, f what dropout multiplies them by, g the gradient of the result and d = sum of g *
// result over the values, the gradient of a score is p * (f g v - d); the gradient of the logarithm adds p times
// itself.
std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  const std::vector<TensorId>& in = node.operands;
  const TensorType result = b.type(node.results[0]);
  const Dims per_query = b.dims(node.results[1]);
  const TensorId given = gradients[0] != kNoTensor
                             ? gradients[0]
                             : b.op("broadcast", {b.constant(0, result.dtype)}, {{"dims", result.dims}});
  const auto wide = [&](TensorId id) { return b.cast(id, computed_dtype(result.dtype)); };
  TensorId delta = reduce_to(b, b.op("mul", {wide(given), wide(node.results[0])}), per_query);
  if (gradients[1] != kNoTensor) delta = b.op("sub", {delta, gradients[1]});
  std::vector<TensorId> operands = {in[0], in[1], in[2], node.results[1], delta, given};
  operands.insert(operands.end(), in.begin() + kExtras, in.end());
  std::vector<TensorId> found = b.add(attention_gradient_op::kOp, operands, node.attributes);
  found.resize(in.size(), kNoTensor);
  // By an operation of its own, which goes where nobody needs this gradient: it is as large as all scores.
  const std::vector<TensorType> types = b.graph().types(in);
  if (const auto bias = attention_extras({node.attributes, types}, kExtras).bias)
    found[*bias] = b.add(attention_bias_gradient_op::kOp, operands, node.attributes)[0];
  return found;
}

int64_t flops(const LocalCall& call, std::span<const LocalType>) {
  const AttentionSizes sizes = attention_sizes(call);
  return 2 * sizes.pairs() * (sizes.inner + sizes.value);
}

std::vector<Example> examples() {
  const Dim positions = dim_of("l=7");
  return {
      attention_example({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3")}),
      attention_example({normal("b=2 l=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3")},
                        {{"positions", positions}, {"causal", true}}),
      attention_example({normal("l=7 b=2 k=3", DType::kF32), normal("m=7 k=3 b=2", DType::kF32),
                         normal("b=2 s=5 m=7", DType::kF32)},
                        {{"positions", positions}, {"causal", true}, {"window", int64_t{3}}}),
      attention_example(
          {normal("b=2 l=7 k=3"), normal("m=7 b=2 k=3"), normal("b=2 m=7 s=2"), flags("b=2 m=7")},
          {{"positions", positions}, {"window", int64_t{3}}}),
      // Keys that all heads share, and a mask for each query.
      attention_example(
          {normal("h=2 l=5 b=3 k=3"), normal("b=3 m=7 k=3"), normal("b=3 m=7 k=3"), flags("m=7 l=5")}),
      attention_example({normal("k=3"), normal("m=7 k=3"), normal("m=7 s=1")}),
      attention_example({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                         indices("b=2 l=5 h=3", 1000, DType::kI64)},
                        {{"dropout", 0.4}}),
      attention_example(
          {normal("l=7 b=2 k=3", DType::kF32), normal("m=7 b=2 k=3", DType::kF32),
           normal("m=7 b=2 k=3", DType::kF32), flags("b=2 m=7"), indices("b=2 l=7", 1000, DType::kI64)},
          {{"positions", positions}, {"causal", true}, {"dropout", 0.2}, {"scale", 0.7}}),
      // A bias that all of the batch share, also beside a mask and dropout.
      attention_example({normal("b=2 l=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                         normal("h=3 l=7 m=7")},
                        {{"positions", positions}, {"causal", true}}),
      attention_example({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                         normal("m=7 h=3"), flags("b=2 m=7"), indices("b=2 l=5 h=3", 1000, DType::kI64)},
                        {{"dropout", 0.4}, {"scale", 0.5}}),
      // A window, whose queries read what is near where they are split.
      attention_example({normal("b=2 l=7 h=3 k=3"), normal("b=2 m=7 k=3"), normal("b=2 m=7 k=3")},
                        {{"positions", positions}, {"causal", true}, {"window", int64_t{2}}}),
      attention_example({normal("b=2 l=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                         normal("h=3 m=7"), flags("b=2 m=7"), indices("b=2 l=7 h=3", 1000, DType::kI64)},
                        {{"positions", positions}, {"window", int64_t{3}}, {"dropout", 0.3}, {"scale", 0.6}}),
      // Scores that a cap bends, also before a bias and a mask.
      attention_example({normal("b=2 l=7 h=3 k=3"), normal("b=2 m=7 k=3"), normal("b=2 m=7 k=3")},
                        {{"positions", positions}, {"causal", true}, {"cap", 1.5}}),
      attention_example({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                         normal("m=7 h=3"), flags("b=2 m=7")},
                        {{"cap", 0.8}, {"scale", 0.5}}),
  };
}

}  // namespace

extern const OpDef kOp = attention({
    .name = "attention",
    .doc = "softmax(scale·q·k)·v over the positions `over` of k and v that a query of q sees, without ever "
           "holding all scores, and the logarithm of the sum of their exponentials; a query that sees "
           "nothing gets zeros and -inf. After v may follow a bias, a float that is added to the scores, and "
           "a mask, true where a position is seen.",
    .min_operands = 3,
    .max_operands = 6,
    .own_dtypes = {{kExtras, DType::kBool}, {kExtras + 1, DType::kI64}, {kExtras + 2, DType::kI64}},
    .infer = infer,
    .examples = examples(),
    .worked = {worked(
        {known("l=2 k=1", {0, 0}), known("m=2 k=1", {1, 2}), known("m=2 k=1", {4, 8})},
        {{"over", dim_of("m=2")}, {"dim", dim_of("k=1")}, {"positions", dim_of("l=2")}, {"causal", true}},
        {{4, 6}, {0, 0.6931471805599453}})},
    .roles = roles,
    .gradient = gradient,
    .flops = flops,
});

}  // namespace mtfc::attention_op
