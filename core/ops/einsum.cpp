#include <fmt/format.h>

#include "core/op_rules/einsum_plan.h"
#include "core/op_rules/example.h"
#include "core/op_rules/family.h"

namespace mtfc::einsum_op {
namespace {

// The gradients of n operands are n products of n operands each.
constexpr size_t kMostOperands = 64;
constexpr size_t kMostDims = 128;

// The dimensions of all operands, global or local.
template <typename Type>
auto all_dims(std::span<const Type> operands) {
  decltype(Type::dims) all;
  for (const Type& type : operands) all = unite(all, type.dims);
  return all;
}

Dims result_dims(const OpCall& call) {
  const AttributeValue* dims = call.attributes.find("dims");
  const AttributeValue* over = call.attributes.find("over");
  if (dims && over) throw OpError{"'dims' and 'over' exclude each other", "use one of them", -1, "over"};
  if (!dims && !over)
    throw OpError{"needs 'dims', the dimensions of the result, or 'over', the dimensions to contract", "", -1,
                  ""};
  const Dims all = all_dims(call.operands);
  if (all.size() > kMostDims)
    throw OpError{fmt::format("the operands of an einsum have at most {} dimensions, but here {}", kMostDims,
                              all.size()),
                  "merge some of them by reshape"};
  const std::string_view name = dims ? "dims" : "over";
  const Dims& given = std::get<Dims>(dims ? *dims : *over);
  require_known(given, all, call.operands.size() == 1 ? "the operand" : "any of the operands", name);
  require_distinct(given, name);
  if (over) return without(all, given);
  Dims result;
  for (const Dim& dim : given) result.push_back(all[static_cast<size_t>(position(all, dim.name))]);
  return result;
}

bool is_narrow(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kI8;
}

// True if one of two operands is f32, and the other, bf16 or i8, is widened to it.
bool widens_one(const OpCall& call) {
  if (call.operands.size() != 2 || call.attributes.get_or("dtype", DType::kBool) != DType::kF32) return false;
  const DType first = call.operands[0].dtype, second = call.operands[1].dtype;
  return (first == DType::kF32 && is_narrow(second)) || (is_narrow(first) && second == DType::kF32);
}

std::vector<TensorType> infer(const OpCall& call) {
  if (call.operands.size() > kMostOperands)
    throw OpError{fmt::format("an einsum takes at most {} operands, but there are {}", kMostOperands,
                              call.operands.size()),
                  "multiply some of them by an einsum of their own", static_cast<int>(kMostOperands)};
  if (widens_one(call)) return {{DType::kF32, result_dims(call)}};
  require_numbers(call);
  require_same_dtype(call);
  const DType own = call.operands[0].dtype, dtype = call.attributes.get_or("dtype", own);
  if (dtype != own && !(own == DType::kBF16 && dtype == DType::kF32))
    throw OpError{fmt::format("the result of {} operands can't be {}", to_string(own), to_string(dtype)),
                  "f32 results of bf16 operands are the only ones of another dtype; use cast", -1, "dtype"};
  return {{dtype, result_dims(call)}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  std::vector<Factor> factors = pass_factors(call, results);
  for (const Dim& dim : without(all_dims(call.operands), results[0].dims))
    factors.push_back(factor(dim.name, Factor::Kind::kReduce, call, results, ReduceKind::kSum));
  return factors;
}

// The product of the result's gradient and the other operands, broadcast along dimensions that none of them
// has.
TensorId gradient_of_operand(GraphBuilder& b, const Node& node, size_t operand, TensorId gradient) {
  const Dims wanted = b.dims(node.operands[operand]);
  if (node.operands.size() == 1) return spread_to(b, gradient, wanted);
  std::vector<TensorId> factors = {gradient};
  Dims present = b.dims(gradient);
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (i != operand) {
      factors.push_back(node.operands[i]);
      present = unite(present, b.dims(node.operands[i]));
    }
  const Dims missing = without(wanted, present);
  Attributes attributes = {{"dims", without(wanted, missing)}};
  if (b.type(factors[0]).dtype != b.type(factors[1]).dtype) attributes.set("dtype", DType::kF32);
  const TensorId product = b.op("einsum", factors, attributes);
  return spread_to(b, b.cast(product, b.type(node.operands[operand]).dtype), wanted);
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  std::vector<TensorId> result(node.operands.size(), kNoTensor);
  if (!is_float(b.type(node.results[0]).dtype)) return result;
  const bool is_mixed =
      node.operands.size() == 2 && b.type(node.operands[0]).dtype != b.type(node.operands[1]).dtype;
  const TensorId own = is_mixed ? gradients[0] : b.cast(gradients[0], b.type(node.operands[0]).dtype);
  for (size_t i = 0; i < result.size(); ++i) result[i] = gradient_of_operand(b, node, i, own);
  return result;
}

int64_t flops(const LocalCall& call, std::span<const LocalType>) {
  return 2 * elements(all_dims(call.operands));
}

int64_t workspace(const LocalCall& call, std::span<const LocalType> results) {
  if (call.operands.size() != 2) return 0;
  return plan_einsum(call.operands[0], call.operands[1], results[0]).workspace_bytes;
}

std::vector<Example> examples() {
  const auto with_dims = [](std::vector<ExampleOperand> operands, std::string_view dims) {
    return Example{std::move(operands), {{"dims", dims_of(dims)}}};
  };
  const auto over = [](std::vector<ExampleOperand> operands, std::string_view dims) {
    return Example{std::move(operands), {{"over", dims_of(dims)}}};
  };
  const DType f32 = DType::kF32;
  const DType bf16 = DType::kBF16;
  const Example wide = {{normal("batch=5 io=7", bf16), normal("io=7 hidden=3", bf16)},
                        {{"dims", dims_of("batch=5 hidden=3")}, {"dtype", f32}}};
  const Example mixed = {{normal("batch=5 io=7", f32), normal("hidden=3 io=7", bf16)},
                         {{"dims", dims_of("batch=5 hidden=3")}, {"dtype", f32}}};
  const Example mixed_batch = {{normal("b=2 io=7 hidden=3", bf16), normal("b=2 batch=5 io=7", f32)},
                               {{"dims", dims_of("batch=5 b=2 hidden=3")}, {"dtype", f32}}};
  return {
      with_dims({normal("batch=5 io=7"), normal("io=7 hidden=3")}, "batch=5 hidden=3"),
      wide,
      mixed,
      mixed_batch,
      with_dims({normal("batch=5 io=7", f32), normal("io=7 hidden=3", f32)}, "batch=5 hidden=3"),
      over({normal("batch=5 rows=3 cols=7"), normal("rows=3 cols=7 hidden=5")}, "rows=3 cols=7"),
      with_dims({normal("batch=5 rows=3"), normal("batch=5 hidden=7")}, "rows=3 hidden=7"),
      with_dims({normal("batch=5 hidden=7"), normal("io=3 hidden=7")}, "batch=5 io=3"),
      with_dims({normal("batch=5 hidden=7"), normal("io=3 hidden=7")}, "io=3 batch=5"),
      with_dims({normal("batch=5 length=7 model=3"), normal("batch=5 memory=2 model=3")},
                "batch=5 length=7 memory=2"),
      with_dims({normal("b=2 l=5 h=3 k=7"), normal("b=2 m=4 h=3 k=7")}, "b=2 l=5 h=3 m=4"),
      with_dims({normal("b=2 l=5 h=3 k=7"), normal("m=4 b=2 h=3 k=7")}, "h=3 b=2 m=4 l=5"),
      with_dims({normal("i=3 j=5 k=7"), normal("k=7 l=2 j=5")}, "l=2 i=3"),
      with_dims({normal("i=3 k=7 j=5"), normal("k=7 l=2")}, "i=3 l=2 j=5"),
      with_dims({normal("i=3"), normal("j=5")}, "j=5 i=3"),
      with_dims({normal("i=3 j=5"), normal("j=5 i=3")}, "i=3 j=5"),
      with_dims({normal("i=3 j=5"), normal("i=3 j=5")}, ""),
      with_dims({normal("i=3 j=5"), normal("i=3 j=5")}, "i=3"),
      with_dims({normal("i=3 j=5 s=2"), normal("j=5 t=7")}, "i=3"),
      with_dims({normal("i=3 j=5"), normal("")}, "j=5 i=3"),
      with_dims({normal("i=3 j=5")}, "j=5"),
      with_dims({normal("i=3 j=5")}, "j=5 i=3"),
      over({normal("batch=5 io=7"), normal("io=7 hidden=3"), normal("hidden=3 out=2")}, "io=7 hidden=3"),
      over({normal("batch=5 io=7"), normal("io=7 hidden=3"), normal("")}, "io=7"),
      with_dims({steps("batch=5 io=7", DType::kI32), steps("hidden=3 io=7", DType::kI32)},
                "batch=5 hidden=3"),
      with_dims({steps("b=2 i=3 k=5", DType::kI64), steps("k=5 j=7 b=2", DType::kI64)}, "j=7 b=2 i=3"),
  };
}

}  // namespace

extern const OpDef kOp = family_member(
    Family::kContraction,
    {
        .name = "einsum",
        .doc = "The product of the operands (at most 64), aligned by the names of dimensions, and summed "
               "over the contracted dimensions.",
        .max_operands = -1,
        .attributes = {{"dims", AttributeType::kDims, false, "the dimensions of the result"},
                       {"over", AttributeType::kOver, false,
                        "the dimensions to contract; the result keeps the others in order of appearance"},
                       {"dtype", AttributeType::kDType, false,
                        "f32 for an f32 result of bf16 operands, or of one bf16 and one f32 operand; "
                        "default: the operands' dtype"}},
        .infer = infer,
        .examples = examples(),
        .worked = {worked({known("i=2 k=2", {1, 2, 3, 4}), known("k=2 j=2", {5, 6, 7, 8})},
                          {{"over", dims_of("k=2")}}, {{19, 22, 43, 50}})},
        .roles = roles,
        // The product is linear in each of its operands, however many there are.
        .linear_in = {{kEachOperand}},
        .gradient = gradient,
        .flops = flops,
        .workspace = workspace,
        .traits = {.reads_stored = ReadsStored::kWidens, .multiplies = true, .can_turn = true},
    });

}  // namespace mtfc::einsum_op
