#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"
#include "core/op_rules/softmax_rules.h"

namespace mtfc::softmax_cross_entropy_composite {
namespace {

void require_classes(const OpCall& call, const Dims& over) {
  const TensorType& labels = call.operands[1];
  for (const Dim& dim : over)
    if (contains(labels.dims, dim.name))
      throw OpError{"integer labels are class indices and must not have the class dimension '" + dim.name +
                        "', but they are " + to_string(labels),
                    "cast them to " + to_string(call.operands[0].dtype) + " if they are a distribution", 1};
  if (over.size() != 1)
    throw OpError{"integer labels need one class dimension, but 'over' names " + std::to_string(over.size()),
                  "", -1, "over"};
}

void require_distribution(const OpCall& call, const Dims& over) {
  const TensorType& labels = call.operands[1];
  if (labels.dtype != call.operands[0].dtype)
    throw OpError{"labels must be i32, i64 or of the logits' dtype, but the logits are " +
                      to_string(call.operands[0]) + " and the labels " + to_string(labels),
                  "use cast", 1};
  for (const Dim& dim : over)
    if (!contains(labels.dims, dim.name))
      throw OpError{"a distribution must have the class dimension '" + dim.name + "', but the labels are " +
                        to_string(labels),
                    "class indices are i32 or i64", 1};
}

std::vector<TensorType> infer(const OpCall& call) {
  require_logits(call);
  const TensorType& logits = call.operands[0];
  const Dims& over = call.attributes.get<Dims>("over");
  if (is_integer(call.operands[1].dtype))
    require_classes(call, over);
  else
    require_distribution(call, over);
  for (const Dim& dim : call.operands[1].dims)
    if (!contains(logits.dims, dim.name))
      throw OpError{
          "the labels have the dimension '" + dim.name + "', which is not in the logits " + to_string(logits),
          "", 1};
  return {{logits.dtype, without(logits.dims, over)}};
}

// With z and s as in softmax_rules.h, the result is log(s) - z[label], or sum(p)*log(s) - sum(p*z) for a
// distribution p.
std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const Dims over = node.attributes.get<Dims>("over");
  const TensorId labels = node.operands[1];
  const Attributes result_order = {{"dims", without(b.dims(node.operands[0]), over)}};
  TensorId chosen = kNoTensor;
  if (is_integer(b.type(labels).dtype)) {
    // Each label's z, without all of z in memory. The exponentials come last, so that they may take the place of the
    // logits.
    const TensorId logits = node.operands[0];
    const Dims& dims = b.dims(logits);
    const Dim classes = dims[static_cast<size_t>(position(dims, over[0].name))];
    chosen = b.op("gather", {logits, labels}, {{"dim", classes}});
  }
  const SoftmaxParts parts = softmax_parts(b, node.operands[0], over);
  const TensorId log_sum = b.op("log", {parts.sum});
  if (chosen != kNoTensor)
    return {b.op("sub", {log_sum, b.op("sub", {chosen, parts.largest})}, result_order)};
  const Attributes reduced = {{"over", over}};
  const TensorId weight = b.op("reduce_sum", {labels}, reduced);
  chosen = b.op("reduce_sum", {b.op("mul", {labels, parts.shifted})}, reduced);
  return {b.op("sub", {b.op("mul", {weight, log_sum}), chosen}, result_order)};
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand logits, ExampleOperand labels, std::string_view over) {
    return Example{{std::move(logits), std::move(labels)}, {{"over", dims_of(over)}}};
  };
  return {
      use(normal("batch=5 classes=7"), indices("batch=5", 7), "classes=7"),
      use(normal("batch=5 classes=7 length=3"), indices("length=3 batch=5", 7, DType::kI64), "classes=7"),
      use(normal("batch=5 classes=7 length=3"), indices("batch=5", 7), "classes=7"),
      use(normal("batch=5 classes=7", DType::kF32), indices("batch=5", 7), "classes=7"),
      use(normal("batch=5 classes=7"), positive("classes=7 batch=5"), "classes=7"),
      use(normal("batch=5 classes=7"), positive("classes=7"), "classes=7"),
  };
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "softmax_cross_entropy",
            .doc = "The cross-entropy of softmax(logits) and labels: the labels are class indices without "
                   "the class dimension, or a distribution with it.",
            .min_operands = 2,
            .max_operands = 2,
            .attributes = {kSoftmaxOver},
            .own_dtypes = {{1, DType::kI32}},
            .infer = infer,
            .examples = examples(),
        },
    .expand = expand,
    .in_f32 = true,
    .reads_logits = true,
};

}  // namespace mtfc::softmax_cross_entropy_composite
