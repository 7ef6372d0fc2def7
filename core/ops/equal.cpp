#include "core/elementwise.h"
#include "core/example.h"
#include "core/operation_rules.h"

namespace mtfc {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_same_dtype(call);
  return {{DType::kBool, aligned_dims(call)}};
}

}  // namespace

extern const OpDef k_equal_op =
    {
        .signature =
            {
                .name = "equal",
                .doc = "Whether two operands are equal, element by element.",
                .min_operands = 2,
                .max_operands = 2,
                .attributes = {kResultOrder},
                .infer = infer,
                .examples = {{.operands = {steps("batch=5 hidden=7"), steps("batch=5 hidden=7")},
                              .attributes = {}},
                             {.operands = {steps("batch=5 hidden=7"), steps("hidden=7")}, .attributes = {}},
                             {.operands = {steps("hidden=7"), steps("batch=5 hidden=7 model=3")},
                              .attributes = {}},
                             {.operands = {steps("batch=5 hidden=7"), steps("hidden=7 batch=5")},
                              .attributes = {}},
                             {.operands = {steps("batch=5"), steps("hidden=7")}, .attributes = {}},
                             {.operands = {steps(""), steps("batch=5")}, .attributes = {}},
                             {.operands = {steps("batch=5 hidden=7"), steps("model=3 hidden=7")},
                              .attributes = {{"dims", dims_of("model=3 batch=5 hidden=7")}}},
                             {.operands = {steps("batch=5 hidden=7", DType::kI32),
                                           steps("batch=5", DType::kI32)},
                              .attributes = {}},
                             {.operands = {steps("batch=5 hidden=7", DType::kF32),
                                           steps("hidden=7", DType::kF32)},
                              .attributes = {}},
                             {.operands = {flags("batch=5 hidden=7"), flags("hidden=7")}, .attributes = {}}},
            },
        .family = Family::kElementwise,
        .roles = pass_factors,
        .linear_in = {},
        .gradient = kNoGradient,
        .flops = result_elements,
        .workspace = kNoWorkspace,
        .split_rule = kNoSplitRule,
};

}  // namespace mtfc
