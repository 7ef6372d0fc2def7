#include "core/op_rules/normalization_rules.h"

#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc {
namespace {

// The type of the one operand, a float.
std::vector<TensorType> infer_normalization(const OpCall& call) {
  require_floats(call);
  const TensorType& x = call.operands[0];
  require_over(call);
  const double eps = call.attributes.get_or<double>("eps", 0);
  if (!(eps >= 0))
    throw OpError{fmt::format("'eps' is {}, but it is added under a square root", eps),
                  "use a small positive number", -1, "eps"};
  if (x.dtype == DType::kF32 && !fits_f32(eps))
    throw OpError{fmt::format("'eps' is {}, which is out of the range of f32", eps),
                  "use a small positive number", -1, "eps"};
  return {x};
}

TensorId mean(GraphBuilder& b, const Node& node, TensorId id) {
  return b.op("reduce_mean", {id}, {{"over", node.attributes.get<Dims>("over")}});
}

// The rules of layer_norm, which is centred, and of rms_norm. They are plain functions, so they cannot hold the choice.
template <bool kCentred>
struct Normalization {
  static constexpr AttributeSpec kEps = {
      "eps", AttributeType::kNumber, false,
      kCentred ? "added under the square root; default: 1e-5" : "added under the square root; default: 1e-6"};

  // d
  static TensorId values(GraphBuilder& b, const Node& node) {
    const TensorId x = node.operands[0];
    return kCentred ? b.op("sub", {x, mean(b, node, x)}) : x;
  }

  // 1 / sqrt(mean(square(d)) + eps)
  static TensorId scale(GraphBuilder& b, const Node& node, TensorId d) {
    const double given = node.attributes.get_or<double>("eps", kCentred ? 1e-5 : 1e-6);
    const TensorId eps = b.constant(given, b.type(d).dtype);
    return b.op("rsqrt", {b.op("add", {mean(b, node, b.op("square", {d})), eps})});
  }

  static std::vector<TensorId> expand(GraphBuilder& b, const Node& node) {
    const TensorId d = values(b, node);
    return {b.op("mul", {d, scale(b, node, d)})};
  }

  // With the result y = d * scale, the gradient of x is scale * (g - mean(g) - y * mean(g * y)), without mean(g) unless
  // centred. The scale has the same means as that of the expansion, which are computed once. Of the tensors of x's
  // size, the rest reads y alone, so that x need not be kept.
  static std::vector<TensorId> gradient(GraphBuilder& b, const Node& node,
                                        std::span<const TensorId> gradients) {
    const TensorId inverse = scale(b, node, values(b, node)), y = node.results[0], g = gradients[0];
    const TensorId along = b.op("mul", {y, mean(b, node, b.op("mul", {g, y}))});
    const TensorId across = kCentred ? b.op("sub", {g, mean(b, node, g)}) : g;
    return {b.op("mul", {b.op("sub", {across, along}), inverse})};
  }
};

std::vector<Example> normalization_examples() {
  return {
      {{normal("batch=5 model=7")}, {{"over", dims_of("model=7")}}},
      {{normal("model=7 batch=5")}, {{"over", dims_of("model=7")}, {"eps", 0.1}}},
      {{normal("a=3 b=5 c=7")}, {{"over", dims_of("a=3 c=7")}}},
      {{normal("batch=5 model=7")}, {{"over", dims_of("model=7 batch=5")}}},
      {{normal("batch=5 model=7", DType::kF32)}, {{"over", dims_of("model=7")}}},
  };
}

constexpr AttributeSpec kNormalizedOver = {"over", AttributeType::kOver, true,
                                           "the dimensions over which the elements are normalized"};

}  // namespace

CompositeDef normalization(std::string_view name, std::string_view doc, bool centred) {
  return {
      .signature =
          {
              .name = name,
              .doc = doc,
              .attributes = {kNormalizedOver,
                             centred ? Normalization<true>::kEps : Normalization<false>::kEps},
              .infer = infer_normalization,
              .examples = normalization_examples(),
          },
      .expand = centred ? Normalization<true>::expand : Normalization<false>::expand,
      .gradient = centred ? Normalization<true>::gradient : Normalization<false>::gradient,
      .in_f32 = true,
  };
}

}  // namespace mtfc
