#include "core/elementwise.h"
#include "core/example.h"
#include "core/operation_rules.h"

namespace mtfc {
namespace {

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {gradient_of(b, node.operands[0], gradients[0]), gradient_of(b, node.operands[1], gradients[0])};
}

}  // namespace

extern const OpDef k_add_op =
    {
        .signature =
            {
                .name = "add",
                .doc = "The sum of two operands, element by element.",
                .min_operands = 2,
                .max_operands = 2,
                .attributes = {kResultOrder},
                .infer = infer_number_binary,
                .examples = {{.operands = {normal("batch=5 hidden=7"), normal("batch=5 hidden=7")},
                              .attributes = {}},
                             {.operands = {normal("batch=5 hidden=7"), normal("hidden=7")}, .attributes = {}},
                             {.operands = {normal("hidden=7"), normal("batch=5 hidden=7 model=3")},
                              .attributes = {}},
                             {.operands = {normal("batch=5 hidden=7"), normal("hidden=7 batch=5")},
                              .attributes = {}},
                             {.operands = {normal("batch=5"), normal("hidden=7")}, .attributes = {}},
                             {.operands = {normal(""), normal("batch=5")}, .attributes = {}},
                             {.operands = {normal("batch=5 hidden=7"), normal("model=3 hidden=7")},
                              .attributes = {{"dims", dims_of("model=3 batch=5 hidden=7")}}},
                             {.operands = {steps("batch=5 hidden=7", DType::kI32),
                                           steps("batch=5", DType::kI32)},
                              .attributes = {}},
                             {.operands = {normal("batch=5 hidden=7", DType::kF32),
                                           normal("hidden=7", DType::kF32)},
                              .attributes = {}}},
            },
        .family = Family::kElementwise,
        .roles = pass_factors,
        .linear_in = {{0, 1}},
        .gradient = gradient,
        .flops = result_elements,
        .workspace = kNoWorkspace,
        .split_rule = kNoSplitRule,
};

}  // namespace mtfc
