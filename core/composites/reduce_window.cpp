#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/windows.h"

namespace mtfc::argmax_pool_op {
extern const OpDef kOp;
}

namespace mtfc::reduce_window_composite {
namespace {

std::vector<TensorType> infer(const OpCall& call) {
  require_numbers(call);
  const std::string& kind = call.attributes.get<std::string>("kind");
  if (kind != "sum" && kind != "max" && kind != "min")
    throw OpError{"'kind' is \"" + kind + "\", but must be \"sum\", \"max\" or \"min\"", "", -1, "kind"};
  return infer_pool(call);
}

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const Attributes attributes = {{"windows", windows_of(node.attributes)}};
  const std::string& kind = node.attributes.get<std::string>("kind");
  if (kind == "sum") return {b.op("sum_pool", node.operands, attributes)};
  if (kind == "max") return {b.add(argmax_pool_op::kOp, node.operands, attributes)[0]};
  const TensorId opposite = b.op("neg", node.operands);
  return {b.op("neg", {b.add(argmax_pool_op::kOp, {opposite}, attributes)[0]})};
}

Example of_kind(Example example, const char* kind) {
  example.attributes.set("kind", std::string(kind));
  return example;
}

std::vector<Example> examples() {
  std::vector<Example> all;
  for (const char* kind : {"sum", "max", "min"})
    for (const Example& example : pool_examples(normal))
      if (is_float(example.operands[0].type.dtype)) all.push_back(of_kind(example, kind));
  return all;
}

}  // namespace

extern const CompositeDef kComposite =
    {
        .signature =
            {
                .name = "reduce_window",
                .doc = "The sum, the maximum or the minimum of the elements that windows read; padding does "
                       "not count.",
                .attributes = {kPoolWindows,
                               {"kind", AttributeType::kText, true, "\"sum\", \"max\" or \"min\""}},
                .infer = infer,
                .examples = examples(),
                .worked = {worked({known("h=5", {1, 5, 3, 4, 2})},
                                  {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}},
                                   {"kind", std::string("min")}},
                                  {{1, 3, 2}})},
            },
        .expand = expand,
        .in_f32 = true,
};

}  // namespace mtfc::reduce_window_composite
