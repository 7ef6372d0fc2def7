#include "core/op_rules/attention.h"
#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc::attention_op {
extern const OpDef kOp;
}

namespace mtfc::dropout_attention_composite {
namespace {

constexpr size_t kExtras = 3;
constexpr double kNumbers = 0x1p53;  // that a random number in f64 can have

// The call of `attention` that drops nothing.
Attributes without_dropout(const Attributes& attributes) {
  Attributes kept;
  for (const auto& [name, value] : attributes.entries())
    if (name != "rate") kept.set(name, value);
  return kept;
}

std::vector<TensorType> infer(const OpCall& call) {
  require_rate(call.attributes.get<double>("rate"), "rate");
  const Attributes attributes = without_dropout(call.attributes);
  const OpCall attention = {attributes, call.operands};
  const AttentionDims dims = attention_dims(attention);
  require_attention_extras(attention, dims, kExtras);
  const TensorType& q = call.operands[0];
  return {{q.dtype, result_dims(q.dims, dims)}, per_query_type(q, dims)};
}

// Each query has a number of its own, and the kernels of attention and of its gradient make the same draws from it.
std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
  const double rate = node.attributes.get<double>("rate");
  Attributes attributes = without_dropout(node.attributes);
  std::vector<TensorId> operands = node.operands;
  if (rate > 0) {
    const Dims queries = without(b.dims(node.operands[0]), {node.attributes.get<Dim>("dim")});
    const TensorId draw = b.op("random_uniform", {}, {{"dims", queries}, {"dtype", DType::kF64}});
    const TensorId whole = b.op("mul", {draw, b.constant(kNumbers, DType::kF64)});
    operands.push_back(b.op("cast", {whole}, {{"dtype", DType::kI64}}));
    attributes.set("dropout", rate);
  }
  return b.add(attention_op::kOp, operands, std::move(attributes));
}

StandIn in_evaluation(const Node& node) {
  return {"attention", node.operands, without_dropout(node.attributes)};
}

std::vector<AttributeSpec> attributes() {
  std::vector<AttributeSpec> specs = attention_attributes();
  std::erase_if(specs, [](const AttributeSpec& spec) { return spec.name == "dropout"; });
  specs.push_back({"rate", AttributeType::kNumber, true,
                   "the probability that a weight becomes 0: at least 0 and less than 1"});
  return specs;
}

}  // namespace

extern const CompositeDef kComposite = {
    .signature =
        {
            .name = "dropout_attention",
            .doc =
                "attention whose weights go through dropout in training, without ever holding all of them. "
                "The second result, the logarithm of the sum, is that of all weights. After v "
                "may follow a bias and a mask, as for attention.",
            .min_operands = 3,
            .max_operands = 5,
            .attributes = attributes(),
            .own_dtypes = {{kExtras, DType::kBool}, {kExtras + 1, DType::kBool}},
            .infer = infer,
            .examples =
                {attention_example(
                     {normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"), normal("b=2 m=7 h=3 k=3")},
                     {{"rate", 0.3}}),
                 attention_example({normal("l=7 b=2 k=3", DType::kF32), normal("m=7 b=2 k=3", DType::kF32),
                                    normal("m=7 b=2 k=3", DType::kF32), flags("b=2 m=7")},
                                   {{"positions", dim_of("l=7")}, {"causal", true}, {"rate", 0.1}}),
                 attention_example({normal("b=2 l=5 h=3 k=3"), normal("b=2 m=7 h=3 k=3"),
                                    normal("b=2 m=7 h=3 k=3"), normal("h=3 l=5 m=7"), flags("b=2 m=7")},
                                   {{"rate", 0.2}}),
                 attention_example({normal("b=2 l=5 k=3"), normal("b=2 m=7 k=3"), normal("b=2 m=7 k=3")},
                                   {{"rate", 0.0}})},
        },
    .expand = expand,
    .in_evaluation = in_evaluation,
};

}  // namespace mtfc::dropout_attention_composite
