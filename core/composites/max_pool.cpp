#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/windows.h"

namespace mtfc::argmax_pool_op {
extern const OpDef kOp;
}

namespace mtfc::max_pool_composite {
namespace {

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  return {b.add(argmax_pool_op::kOp, node.operands, node.attributes)[0]};
}

}  // namespace

extern const CompositeDef kComposite =
    {
        .signature =
            {
                .name = "max_pool",
                .doc = "The largest of the elements that windows read; padding does not count.",
                .attributes = {kPoolWindows},
                .infer = infer_pool,
                .examples = pool_examples(normal),
                .worked = {worked({known("h=5", {-1, -5, -3, -4, -4})},
                                  {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}},
                                  {{-1, -3, -4}})},
            },
        .expand = expand,
};

}  // namespace mtfc::max_pool_composite
