#include "core/op_rules/operation_rules.h"

#include <fmt/format.h>

#include <cmath>

#include "core/diagnostics/suggest.h"

namespace mtfc {
namespace {

std::string cast_hint(std::string_view wanted) {
  return fmt::format("use cast to make it {}", wanted);
}

}  // namespace

void require_same_dtype(const OpCall& call) {
  for (size_t i = 1; i < call.operands.size(); ++i)
    if (call.operands[i].dtype != call.operands[0].dtype)
      throw OpError{fmt::format("operands have different dtypes: {} and {}", to_string(call.operands[0]),
                                to_string(call.operands[i])),
                    "use cast to make them the same", static_cast<int>(i)};
}

void require_floats(const OpCall& call) {
  for (size_t i = 0; i < call.operands.size(); ++i)
    if (!is_float(call.operands[i].dtype))
      throw OpError{fmt::format("needs f32, f64 or bf16, but the operand is {}", to_string(call.operands[i])),
                    cast_hint("f32"), static_cast<int>(i)};
}

void require_numbers(const OpCall& call) {
  for (size_t i = 0; i < call.operands.size(); ++i)
    if (call.operands[i].dtype == DType::kBool)
      throw OpError{fmt::format("needs numbers, but the operand is {}", to_string(call.operands[i])),
                    cast_hint("f32 or i32"), static_cast<int>(i)};
}

void require_bools(const OpCall& call) {
  for (size_t i = 0; i < call.operands.size(); ++i)
    if (call.operands[i].dtype != DType::kBool)
      throw OpError{fmt::format("needs bool, but the operand is {}", to_string(call.operands[i])),
                    cast_hint("bool"), static_cast<int>(i)};
}

void require_distinct(const Dims& dims, std::string_view attribute) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (position(dims, dims[i].name) != static_cast<int>(i))
      throw OpError{fmt::format("'{}' names the dimension '{}' twice", attribute, dims[i].name), "", -1,
                    std::string(attribute)};
}

void require_known(const Dims& dims, const Dims& known, const std::string& owner,
                   std::string_view attribute) {
  std::vector<std::string> names;
  for (const Dim& dim : known) names.push_back(dim.name);
  for (const Dim& dim : dims)
    if (!contains(known, dim.name))
      throw OpError{
          fmt::format("'{}' names the dimension '{}', which is not in {}", attribute, dim.name, owner),
          did_you_mean(dim.name, names), -1, std::string(attribute)};
}

const Dims& require_over(const OpCall& call) {
  const Dims& over = call.attributes.get<Dims>("over");
  require_known(over, call.operands[0].dims, to_string(call.operands[0]), "over");
  require_distinct(over, "over");
  if (over.empty()) throw OpError{"'over' names no dimension", "", -1, "over"};
  return over;
}

void require_rate(double rate, std::string_view attribute) {
  if (rate >= 0 && rate < 1) return;
  throw OpError{fmt::format("'{}' must be at least 0 and less than 1, but it is {}", attribute, rate), "", -1,
                std::string(attribute)};
}

void require_permutation(const Dims& dims, const Dims& expected, std::string_view attribute) {
  require_distinct(dims, attribute);
  if (!same_set(dims, expected))
    throw OpError{
        fmt::format("'{}' must list every dimension of the result once; it has [{}], but the result has [{}]",
                    attribute, to_string(dims), to_string(expected)),
        "", -1, std::string(attribute)};
}

void require_value(double value, DType dtype, std::string_view attribute) {
  if (is_integer(dtype)) {
    if (value != std::trunc(value))
      throw OpError{fmt::format("{} is not a whole number, as {} needs", value, to_string(dtype)), "", -1,
                    std::string(attribute)};
    const double limit = dtype == DType::kI32 ? 0x1p31 : 0x1p63;
    if (value < -limit || value >= limit)
      throw OpError{fmt::format("{} is out of the range of {}", value, to_string(dtype)), "", -1,
                    std::string(attribute)};
  }
  // An infinity may be meant; a finite number must not become one.
  if (dtype == DType::kF32 && std::isfinite(value) && !fits_f32(value))
    throw OpError{fmt::format("{} is out of the range of f32, whose largest number is 3.4028235e+38", value),
                  "f64 holds larger numbers", -1, std::string(attribute)};
  if (dtype == DType::kBF16 && std::isfinite(value) && !fits_bf16(value))
    throw OpError{fmt::format("{} is out of the range of bf16, whose largest number is 3.3895314e+38", value),
                  "f64 holds larger numbers", -1, std::string(attribute)};
  if (dtype == DType::kBool && value != 0 && value != 1)
    throw OpError{fmt::format("{} is not a bool", value), "0 is false, 1 is true", -1,
                  std::string(attribute)};
}

void require_size(double size, std::string_view what, const std::string& dim, std::string_view attribute,
                  int operand) {
  if (size < 0x1p60) return;
  throw OpError{
      fmt::format("{} would have about {:.3g} elements along '{}', but a tensor has fewer than 2^60", what,
                  size, dim),
      "", operand, std::string(attribute)};
}

Factor factor(std::string_view name, Factor::Kind kind, const OpCall& call,
              std::span<const TensorType> results, ReduceKind reduce) {
  Factor factor{kind, {}, {}, reduce};
  for (const TensorType& type : call.operands) factor.operands.push_back(position(type.dims, name));
  for (const TensorType& type : results) factor.results.push_back(position(type.dims, name));
  return factor;
}

std::vector<Factor> pass_factors(const OpCall& call, std::span<const TensorType> results) {
  std::vector<Factor> factors;
  for (const Dim& dim : results[0].dims)
    factors.push_back(factor(dim.name, Factor::Kind::kPass, call, results));
  return factors;
}

std::vector<Factor> no_factors(const OpCall&, std::span<const TensorType>) {
  return {};
}

int64_t no_flops(const LocalCall&, std::span<const LocalType>) {
  return 0;
}

int64_t result_elements(const LocalCall&, std::span<const LocalType> results) {
  return elements(results[0].dims);
}

int64_t operand_elements(const LocalCall& call, std::span<const LocalType>) {
  return elements(call.operands[0].dims);
}

TensorId reduce_to(GraphBuilder& b, TensorId gradient, const Dims& dims) {
  const Dims& own = b.dims(gradient);
  if (own == dims) return gradient;
  if (own.size() == dims.size()) return b.op("transpose", {gradient}, {{"dims", dims}});
  return b.op("reduce_sum", {gradient}, {{"dims", dims}});
}

TensorId spread_to(GraphBuilder& b, TensorId tensor, const Dims& dims) {
  const Dims& own = b.dims(tensor);
  if (own == dims) return tensor;
  return b.op(own.size() == dims.size() ? "transpose" : "broadcast", {tensor}, {{"dims", dims}});
}

}  // namespace mtfc
