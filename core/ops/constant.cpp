#include "cmath"
#include "core/example.h"
#include "core/operation_rules.h"
#include "fmt/format.h"

namespace mtfc {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  const DType dtype = call.attributes.get_or("dtype", DType::kF32);
  const double value = call.attributes.get<double>("value");
  if (is_integer(dtype)) {
    if (value != std::trunc(value))
      throw OpError{fmt::format("{} is no whole number, as {} needs", value, to_string(dtype)), "", -1,
                    "value"};
    const double limit = dtype == DType::kI32 ? 0x1p31 : 0x1p63;
    if (value < -limit || value >= limit)
      throw OpError{fmt::format("{} is out of the range of {}", value, to_string(dtype)), "", -1, "value"};
  }
  if (dtype == DType::kBool && value != 0 && value != 1)
    throw OpError{fmt::format("{} is no bool", value), "0 is false, 1 is true", -1, "value"};
  return {{dtype, {}}};
}

}  // namespace

extern const OpDef k_constant_op = {
    .signature =
        {
            .name = "constant",
            .doc = "A number.",
            .min_operands = 0,
            .max_operands = 0,
            .attributes = {{"value", AttributeType::kNumber, true, "the number"},
                           {"dtype", AttributeType::kDType, false, "f32 unless stated"}},
            .infer = infer,
            .examples = {{.operands = {}, .attributes = {{"value", 0.5}, {"dtype", DType::kF32}}},
                         {.operands = {}, .attributes = {{"value", -1e9}, {"dtype", DType::kF64}}},
                         {.operands = {}, .attributes = {{"value", 7.0}, {"dtype", DType::kI32}}},
                         {.operands = {}, .attributes = {{"value", 1.0}, {"dtype", DType::kBool}}}},
        },
    .family = Family::kGenerator,
    .roles = pass_factors,
    .linear_in = {},
    .gradient = kNoGradient,
    .flops = no_flops,
    .workspace = kNoWorkspace,
    .split_rule = kNoSplitRule,
};

}  // namespace mtfc
