#include "core/op_rules/attention.h"
#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::attention_gradient_op {
namespace {

using Operands = AttentionGradientOperands;
constexpr auto kExtras = static_cast<int>(Operands::kExtras);

std::vector<TensorType> infer(const OpCall& call) {
  require_attention_gradient(call, attention_dims(call));
  return {call.operands[0], call.operands[1], call.operands[2]};
}

// Split queries give terms of the gradients of k and v, and a split memory gives terms of that of q. With a window,
// devices exchange queries and memory instead, and each gives the gradients of its own ones.
std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const AttentionDims dims = attention_dims(call);
  return with_near_memory(attention_factors(call, results,
                                            {{dims.batch, Factor::Kind::kPass},
                                             {dims.queries, Factor::Kind::kReduce},
                                             {{dims.memory}, Factor::Kind::kReduce}}),
                          call, results);
}

int64_t flops(const LocalCall& call, std::span<const LocalType> results) {
  const AttentionSizes sizes = attention_gradient_sizes(call, results);
  return 2 * sizes.pairs() * (3 * sizes.inner + 2 * sizes.value);
}

std::vector<Example> examples() {
  const Dim positions = dim_of("l=7");
  return {
      attention_example({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                         positive("b=2 l=5 h=3"), normal("b=2 l=5 h=3"), normal("b=2 l=5 h=3 k=3")}),
      attention_example({normal("l=7 b=2 k=3", DType::kF32), normal("m=7 b=2 k=3", DType::kF32),
                         normal("b=2 s=5 m=7", DType::kF32), positive("l=7 b=2", DType::kF32),
                         normal("l=7 b=2", DType::kF32), normal("l=7 b=2 s=5", DType::kF32)},
                        {{"positions", positions}, {"causal", true}}),
      attention_example({normal("h=2 l=5 b=3 k=3"), normal("b=3 m=7 k=3"), normal("b=3 m=7 k=3"),
                         positive("h=2 l=5 b=3"), normal("h=2 l=5 b=3"), normal("h=2 l=5 b=3 k=3"),
                         flags("m=7 l=5")}),
      attention_example(
          {normal("b=2 l=5 k=3"), normal("b=2 m=7 k=3"), normal("b=2 m=7 k=3"), positive("b=2 l=5"),
           normal("b=2 l=5"), normal("b=2 l=5 k=3"), flags("b=2 m=7"), indices("b=2 l=5", 1000, DType::kI64)},
          {{"dropout", 0.4}, {"scale", 0.3}}),
      attention_example({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                         positive("b=2 l=5 h=3"), normal("b=2 l=5 h=3"), normal("b=2 l=5 h=3 k=3"),
                         normal("h=3 l=5 m=7"), flags("b=2 m=7"), indices("b=2 l=5 h=3", 1000, DType::kI64)},
                        {{"dropout", 0.4}}),
      attention_example({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                         positive("b=2 l=5 h=3"), normal("b=2 l=5 h=3"), normal("b=2 l=5 h=3 k=3"),
                         normal("h=3 l=5 m=7"), flags("b=2 m=7")},
                        {{"cap", 0.8}, {"scale", 0.5}}),
      // A window, whose queries and memory are exchanged where they are split.
      attention_example({normal("b=2 l=7 h=3 k=3"), normal("b=2 m=7 k=3"), normal("b=2 m=7 k=3"),
                         positive("b=2 l=7 h=3"), normal("b=2 l=7 h=3"), normal("b=2 l=7 h=3 k=3")},
                        {{"positions", positions}, {"causal", true}, {"window", int64_t{2}}}),
      attention_example({normal("h=3 l=7 b=2 k=3"), normal("m=7 b=2 k=3"), normal("b=2 k=3 m=7"),
                         positive("b=2 l=7 h=3"), normal("b=2 l=7 h=3"), normal("b=2 l=7 h=3 k=3"),
                         normal("h=3 m=7"), flags("b=2 l=7"), indices("b=2 l=7 h=3", 1000, DType::kI64)},
                        {{"positions", positions}, {"window", int64_t{2}}, {"dropout", 0.3}, {"scale", 0.6}}),
  };
}

}  // namespace

extern const OpDef kOp = attention({
    .name = "attention_gradient",
    .doc = "The gradients of q, k and v of an attention, whose weights are computed again. The operands are "
           "q, k and v; for each query, the second result of the attention and the sum of the gradient of "
           "the first times that result; the gradient of the first result; and the bias, the mask and the "
           "numbers for dropout if there are any.",
    .min_operands = 6,
    .max_operands = 9,
    .own_dtypes = {{kExtras, DType::kBool}, {kExtras + 1, DType::kI64}, {kExtras + 2, DType::kI64}},
    .infer = infer,
    .examples = examples(),
    .worked = {worked({known("l=1 k=1", {0}), known("m=2 k=1", {1, 2}), known("m=2 k=1", {4, 8}),
                       known("l=1", {0.6931471805599453}), known("l=1", {6}), known("l=1 k=1", {1})},
                      {{"over", dim_of("m=2")}, {"dim", dim_of("k=1")}}, {{1}, {0, 0}, {0.5, 0.5}})},
    .roles = roles,
    .flops = flops,
});

}  // namespace mtfc::attention_gradient_op
