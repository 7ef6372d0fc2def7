#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/windows.h"

namespace mtfc::avg_pool_composite {
namespace {

constexpr AttributeSpec kCountPadding = {
    "count_padding", AttributeType::kFlag, false,
    "whether padding counts as zeros; by default, the mean is of the elements alone"};

std::vector<TensorType> infer(const OpCall& call) {
  require_floats(call);
  return infer_pool(call);
}

std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const Windows& windows = windows_of(node.attributes);
  const Attributes attributes = {{"windows", windows}};
  const TensorType x = b.type(node.operands[0]);
  const TensorId sum = b.op("sum_pool", node.operands, attributes);
  if (node.attributes.get_or("count_padding", false))
    return {b.op("mul", {sum, b.constant(1.0 / static_cast<double>(taps_of(windows)), x.dtype)})};
  Dims spatial;
  for (const Window& window : windows) spatial.push_back(window.dim);
  const TensorId ones = b.op("broadcast", {b.constant(1, x.dtype)}, {{"dims", spatial}});
  const TensorId counts = b.op("maximum", {b.op("sum_pool", {ones}, attributes), b.constant(1, x.dtype)});
  return {b.op("mul", {sum, b.op("reciprocal", {counts})})};
}

Example counting_padding(Example example) {
  example.attributes.set("count_padding", true);
  return example;
}

std::vector<Example> examples() {
  std::vector<Example> all;
  for (Example& example : pool_examples(normal))
    if (is_float(example.operands[0].type.dtype)) all.push_back(std::move(example));
  all.push_back(counting_padding(all.front()));
  return all;
}

}  // namespace

extern const CompositeDef kComposite =
    {
        .signature =
            {
                .name = "avg_pool",
                .doc = "The mean of the elements that windows read; 0 for a window that reads padding alone.",
                .attributes = {kPoolWindows, kCountPadding},
                .infer = infer,
                .examples = examples(),
                .worked = {worked({known("h=5", {1, 2, 3, 4, 5})},
                                  {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}}},
                                  {{1.5, 3, 4.5}}),
                           worked({known("h=5", {1, 2, 3, 4, 5})},
                                  {{"windows", Windows{padded(sliding("h=5", 3, "y=3"), 1, 1, 2)}},
                                   {"count_padding", true}},
                                  {{1, 3, 3}})},
            },
        .expand = expand,
        .in_f32 = true,
};

}  // namespace mtfc::avg_pool_composite
