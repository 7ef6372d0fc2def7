#include "core/op_rules/attention.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::attention_gradient_op {
namespace {

constexpr size_t kTotal = 3, kDelta = 4, kGiven = 5, kMask = 6;

std::vector<TensorType> infer(const OpCall& call) {
  const AttentionDims dims = attention_dims(call);
  require_attention_mask(call, dims, kMask);
  const TensorType& q = call.operands[0];
  const TensorType per_query = {q.dtype, query_dims(q.dims, dims)},
                   result = {q.dtype, result_dims(q.dims, dims)};
  for (const size_t at : {kTotal, kDelta, kGiven}) {
    const TensorType& wanted = at == kGiven ? result : per_query;
    if (call.operands[at].dtype != wanted.dtype || !same_set(call.operands[at].dims, wanted.dims))
      throw OpError{"operand " + std::to_string(at) + " is " + to_string(call.operands[at]) +
                        ", but it must be " + to_string(wanted),
                    "", static_cast<int>(at)};
  }
  return {call.operands[0], call.operands[1], call.operands[2]};
}

// Split queries give terms of the gradients of k and v, and a split memory gives terms of that of q.
std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const AttentionDims dims = attention_dims(call);
  std::vector<Factor> factors;
  for (const Dim& dim : dims.batch) factors.push_back(factor(dim.name, Factor::Kind::kPass, call, results));
  for (const Dim& dim : dims.queries)
    factors.push_back(factor(dim.name, Factor::Kind::kReduce, call, results));
  factors.push_back(factor(dims.memory.name, Factor::Kind::kReduce, call, results));
  Factor inner = factor(dims.inner.name, Factor::Kind::kWhole, call, results);
  Factor value = factor(dims.value.name, Factor::Kind::kWhole, call, results);
  if (dims.inner.name == dims.value.name) {
    inner.operands[2] = inner.operands[kGiven] = inner.results[2] = -1;
    value.operands[0] = value.operands[1] = value.results[0] = value.results[1] = -1;
  }
  factors.push_back(inner);
  factors.push_back(value);
  return factors;
}

int64_t flops(const LocalCall& call, std::span<const LocalType>) {
  return 2 * attention_pairs(call) * (3 * inner_size(call) + 2 * value_size(call));
}

// Roundings of a score change its weight by as much again. The weights of all positions add up to 1, and so they do not
// over all queries.
std::vector<double> largest_terms(const OpCall& call, std::span<const double> largest) {
  const AttentionDims dims = attention_dims(call);
  const double score = static_cast<double>(dims.inner.size) * largest[0] * largest[1];
  const double of_score =
      (1 + score) * (static_cast<double>(dims.value.size) * largest[2] * largest[kGiven] + largest[kDelta]);
  double queries = 1;
  for (const Dim& dim : dims.queries) queries *= static_cast<double>(dim.size);
  return {of_score * largest[1], queries * of_score * largest[0], queries * (1 + score) * largest[kGiven]};
}

std::vector<Example> examples() {
  const auto use = [](std::vector<ExampleOperand> operands, const Attributes& more = {}) {
    Attributes attributes = {{"over", dim_of("m=7")}, {"dim", dim_of("k=3")}};
    for (const auto& [name, value] : more.entries()) attributes.set(name, value);
    return Example{std::move(operands), attributes};
  };
  const Dim positions = dim_of("l=7");
  return {
      use({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
           positive("b=2 l=5 h=3"), normal("b=2 l=5 h=3"), normal("b=2 l=5 h=3 k=3")}),
      use({normal("l=7 b=2 k=3", DType::kF32), normal("m=7 b=2 k=3", DType::kF32),
           normal("b=2 s=5 m=7", DType::kF32), positive("l=7 b=2", DType::kF32),
           normal("l=7 b=2", DType::kF32), normal("l=7 b=2 s=5", DType::kF32)},
          {{"positions", positions}, {"causal", true}}),
      use({normal("h=2 l=5 b=3 k=3"), normal("b=3 m=7 k=3"), normal("b=3 m=7 k=3"), positive("h=2 l=5 b=3"),
           normal("h=2 l=5 b=3"), normal("h=2 l=5 b=3 k=3"), flags("m=7 l=5")}),
  };
}

}  // namespace

extern const OpDef kOp = {
    .signature =
        {
            .name = "attention_gradient",
            .doc = "The gradients of q, k and v of an attention, whose weights are computed again. The "
                   "operands are q, k and "
                   "v; for each query, the second result of the attention and the sum of the gradient of the "
                   "first times "
                   "that result; the gradient of the first result; and the mask if there is one.",
            .min_operands = 6,
            .max_operands = 7,
            .attributes = attention_attributes(),
            .own_dtypes = {{static_cast<int>(kMask), DType::kBool}},
            .infer = infer,
            .examples = examples(),
            .worked = {worked({known("l=1 k=1", {0}), known("m=2 k=1", {1, 2}), known("m=2 k=1", {4, 8}),
                               known("l=1", {0.6931471805599453}), known("l=1", {6}), known("l=1 k=1", {1})},
                              {{"over", dim_of("m=2")}, {"dim", dim_of("k=1")}}, {{1}, {0, 0}, {0.5, 0.5}})},
        },
    .family = Family::kAttention,
    .roles = roles,
    .linear_in = {},
    .gradient = kNoGradient,
    .flops = flops,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
    .traits = {.multiplies = true, .largest_terms = largest_terms},
};

}  // namespace mtfc::attention_gradient_op
