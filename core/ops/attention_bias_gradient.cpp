#include "core/op_rules/attention.h"
#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::attention_bias_gradient_op {
namespace {

using Operands = AttentionGradientOperands;
constexpr auto kExtras = static_cast<int>(Operands::kExtras);

const TensorType& bias_of(const OpCall& call) {
  const AttentionExtras extras = attention_extras(call, Operands::kExtras);
  if (!extras.bias)
    throw OpError{"the gradient of a bias needs the bias", "it follows the gradient of the result"};
  return call.operands[*extras.bias];
}

std::vector<TensorType> infer(const OpCall& call) {
  require_attention_gradient(call, attention_dims(call));
  return {bias_of(call)};
}

// The gradients of scores are added up along the dimensions that the bias lacks.
std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const AttentionDims dims = attention_dims(call);
  Dims kept, added_up;
  for (const Dim& dim : unite(unite(dims.batch, dims.queries), {dims.memory}))
    (contains(results[0].dims, dim.name) ? kept : added_up).push_back(dim);
  return attention_factors(call, results, {{kept, Factor::Kind::kPass}, {added_up, Factor::Kind::kReduce}});
}

int64_t flops(const LocalCall& call, std::span<const LocalType>) {
  const AttentionSizes sizes = attention_sizes(call);
  return 2 * sizes.pairs() * (sizes.inner + sizes.value);
}

std::vector<Example> examples() {
  const std::vector<ExampleOperand> given = {normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                                             normal("b=2 m=7 h=3 k=3"), positive("b=2 l=5 h=3"),
                                             normal("b=2 l=5 h=3"),     normal("b=2 l=5 h=3 k=3")};
  const auto with = [&](const std::vector<ExampleOperand>& more, const Attributes& attributes = {}) {
    std::vector<ExampleOperand> operands = given;
    operands.insert(operands.end(), more.begin(), more.end());
    return attention_example(std::move(operands), attributes);
  };
  return {
      with({normal("h=3 l=5 m=7")}),
      with({normal("m=7 h=3")}, {{"positions", dim_of("l=5")}, {"causal", true}, {"scale", 0.5}}),
      with({normal("b=2 h=3 l=5 m=7"), flags("b=2 m=7")}),
      with({normal("h=3 m=7")}, {{"cap", 0.8}}),
      with({normal("l=5"), flags("m=7"), indices("b=2 l=5 h=3", 1000, DType::kI64)}, {{"dropout", 0.4}}),
      attention_example({normal("l=7 b=2 k=3", DType::kF32), normal("m=7 b=2 k=3", DType::kF32),
                         normal("b=2 s=5 m=7", DType::kF32), positive("l=7 b=2", DType::kF32),
                         normal("l=7 b=2", DType::kF32), normal("l=7 b=2 s=5", DType::kF32),
                         normal("l=7 m=7", DType::kF32)},
                        {{"positions", dim_of("l=7")}, {"window", int64_t{3}}}),
  };
}

}  // namespace

extern const OpDef kOp = attention({
    .name = "attention_bias_gradient",
    .doc = "The gradient of the bias of an attention, whose weights are computed again. The operands are "
           "those of attention_gradient.",
    .min_operands = 7,
    .max_operands = 9,
    .own_dtypes = {{kExtras + 1, DType::kBool}, {kExtras + 2, DType::kI64}},
    .infer = infer,
    .examples = examples(),
    // Both weights are 1/2, and the gradients of the scores 1/2 * (1 * v - 6).
    .worked = {worked(
        {known("l=1 k=1", {0}), known("m=2 k=1", {1, 2}), known("m=2 k=1", {4, 8}),
         known("l=1", {0.6931471805599453}), known("l=1", {6}), known("l=1 k=1", {1}), known("m=2", {0, 0})},
        {{"over", dim_of("m=2")}, {"dim", dim_of("k=1")}}, {{-1, 1}})},
    .roles = roles,
    .flops = flops,
});

}  // namespace mtfc::attention_bias_gradient_op
