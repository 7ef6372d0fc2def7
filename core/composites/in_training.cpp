#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::in_training_composite {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  if (!(call.operands[0] == call.operands[1]))
    throw OpError{"the operands must be of one type, but they are " + to_string(call.operands[0]) + " and " +
                      to_string(call.operands[1]),
                  "use cast, broadcast or transpose to make the types agree", 1};
  return {call.operands[0]};
}

std::vector<TensorId> expand(GraphBuilder&, const Node& node) {
  return {node.operands[1]};
}

StandIn first_operand(const Node& node) {
  return {"identity", {node.operands[0]}};
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "in_training",
            .doc =
                "The second operand in training, the first in evaluation and decoding; what only the other "
                "one needs is not computed.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {},
            .infer = infer,
            .examples = {{.operands = {normal("batch=5 hidden=7"), normal("batch=5 hidden=7")},
                          .attributes = {}},
                         {.operands = {flags("batch=5"), flags("batch=5")}, .attributes = {}}},
        },
    .expand = expand,
    .in_evaluation = first_operand,
};

}  // namespace mtfc::in_training_composite
