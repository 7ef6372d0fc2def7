#include "core/op_rules/normalization_rules.h"

#include <fmt/format.h>

#include "core/op_rules/example.h"
#include "core/op_rules/operation_rules.h"

namespace mtfc {

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

TensorId inverse_root_mean_square(GraphBuilder& b, const Node& node, TensorId x, double default_eps) {
  const TensorId eps = b.constant(node.attributes.get_or<double>("eps", default_eps), b.type(x).dtype);
  const Attributes over = {{"over", node.attributes.get<Dims>("over")}};
  return b.op("rsqrt", {b.op("add", {b.op("reduce_mean", {b.op("square", {x})}, over), eps})});
}

TensorId normalization_gradient(GraphBuilder& b, const Node& node, TensorId scale, TensorId gradient,
                                bool centred) {
  const TensorId y = node.results[0];
  const auto mean = [&](TensorId id) {
    return b.op("reduce_mean", {id}, {{"over", node.attributes.get<Dims>("over")}});
  };
  const TensorId along = b.op("mul", {y, mean(b.op("mul", {gradient, y}))});
  const TensorId across = centred ? b.op("sub", {gradient, mean(gradient)}) : gradient;
  return b.op("mul", {b.op("sub", {across, along}), scale});
}

std::vector<Example> normalization_examples() {
  return {
      {{normal("batch=5 model=7")}, {{"over", dims_of("model=7")}}},
      {{normal("model=7 batch=5")}, {{"over", dims_of("model=7")}, {"eps", 0.1}}},
      {{normal("a=3 b=5 c=7")}, {{"over", dims_of("a=3 c=7")}}},
      {{normal("batch=5 model=7")}, {{"over", dims_of("model=7 batch=5")}}},
      {{normal("batch=5 model=7", DType::kF32)}, {{"over", dims_of("model=7")}}},
  };
}

}  // namespace mtfc
