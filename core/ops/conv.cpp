#include <fmt/format.h>

#include "core/op_rules/conv_plan.h"
#include "core/op_rules/example.h"
#include "core/op_rules/family.h"
#include "core/op_rules/windows.h"

namespace mtfc::conv_op {
namespace {

// A name may be that of a spatial dimension of one tensor and of the taps of another one, as in gradients; but the
// other dimensions, which no window is along, have names of their own.
Dims without_taps(const Dims& dims, const Windows& windows) {
  return without_windows(dims, windows, &Window::taps);
}

Dims without_spatial(const Dims& dims, const Windows& windows) {
  return without_windows(dims, windows, &Window::dim);
}

void require_taps(const OpCall& call, const Windows& windows) {
  const TensorType& filter = call.operands[1];
  const Dims of_x = without_spatial(call.operands[0].dims, windows);
  Dims taps;
  for (const Window& window : windows) {
    if (window.taps.name.empty())
      throw OpError{fmt::format("the taps along '{}' must be a dimension of the filter", window.dim.name),
                    "let 'taps' name it", -1, "windows"};
    if (contains(of_x, window.taps.name))
      throw OpError{fmt::format("the taps '{}' are also a dimension of the first operand", window.taps.name),
                    "rename it", -1, "windows"};
    taps.push_back(window.taps);
  }
  require_known(taps, filter.dims, "the filter " + to_string(filter), "windows");
  require_distinct(taps, "windows");
}

// A dimension that operand `own` alone has must be in the result.
void require_kept(const Dims& dims, const Dims& others, const Dims& result, int own) {
  for (const Dim& dim : dims)
    if (!contains(others, dim.name) && !contains(result, dim.name))
      throw OpError{
          fmt::format("the dimension '{}' is contracted, but only operand {} has it", dim.name, own + 1),
          "use reduce_sum", own};
}

Dims result_dims(const OpCall& call, const Windows& windows) {
  const AttributeValue* dims = call.attributes.find("dims");
  const AttributeValue* over = call.attributes.find("over");
  if (dims && over) throw OpError{"'dims' and 'over' exclude each other", "use one of them", -1, "over"};
  if (!dims && !over)
    throw OpError{"needs 'over', the dimensions to contract, or 'dims', those of the result",
                  "without channels to contract, as in a depthwise convolution, 'over' is []"};
  const Dims x = without_spatial(call.operands[0].dims, windows),
             w = without_taps(call.operands[1].dims, windows);
  for (const Window& window : windows)
    for (const Dim* along : {&window.dim, &window.to})
      if (contains(w, along->name))
        throw OpError{
            fmt::format("the filter has the dimension '{}', along which its window slides", along->name),
            "rename it", 1};
  const Dims all = unite(slid_dims(call.operands[0].dims, windows), w);
  const std::string_view name = dims ? "dims" : "over";
  const Dims& given = std::get<Dims>(dims ? *dims : *over);
  require_known(given, all, "the operands", name);
  require_distinct(given, name);
  Dims result = dims ? given : without(all, given);
  for (const Window& window : windows)
    if (!contains(result, window.to.name))
      throw OpError{
          fmt::format("the result lacks '{}', the dimension of the window's places", window.to.name), "", -1,
          std::string(name)};
  require_kept(x, w, result, 0);
  require_kept(w, x, result, 1);
  return result;
}

std::vector<TensorType> infer(const OpCall& call) {
  require_floats(call);
  require_same_dtype(call);
  const Windows& windows = windows_of(call.attributes);
  require_windows(call.operands[0], windows);
  require_taps(call, windows);
  const Dims dims = result_dims(call, windows);
  // The gradient of the first operand is a convolution, too, whose result has that operand's dimensions.
  for (const Dims& sums : {dims, call.operands[0].dims}) {
    double products = 1;
    for (const Dim& dim : unite(sums, call.operands[1].dims)) products *= static_cast<double>(dim.size);
    if (products > 0x1p60) throw OpError{"a convolution of these dimensions is too large"};
  }
  return {{call.operands[0].dtype, dims}};
}

std::vector<Factor> roles(const OpCall& call, std::span<const TensorType> results) {
  const Windows& windows = windows_of(call.attributes);
  const TensorType &x = call.operands[0], &w = call.operands[1];
  const Dims of_x = without_spatial(x.dims, windows), of_w = without_taps(w.dims, windows);
  std::vector<Factor> factors;
  for (const Window& window : windows) factors.push_back(place_factor(window, call, results, {}));
  for (const Dim& dim : unite(of_x, of_w)) {
    const bool passes = contains(results[0].dims, dim.name);
    factors.push_back({passes ? Factor::Kind::kPass : Factor::Kind::kReduce,
                       {contains(of_x, dim.name) ? position(x.dims, dim.name) : -1,
                        contains(of_w, dim.name) ? position(w.dims, dim.name) : -1},
                       {position(results[0].dims, dim.name)}});
  }
  for (const Window& window : windows) {
    Factor taps{Factor::Kind::kReduce, {-1, position(w.dims, window.taps.name)}, {-1}};
    const auto at = static_cast<size_t>(position(x.dims, window.dim.name));
    taps.windows = {{0,
                     {at, window.taps.size, window.dilation, window.low,
                      (window.to.size - 1) * window.stride + 1, window.base}}};
    factors.push_back(std::move(taps));
  }
  return factors;
}

// The filter slides over the gradient of the result in the opposite direction.
TensorId gradient_of_operand(GraphBuilder& b, const Node& node, TensorId gradient) {
  TensorId filter = node.operands[1];
  Windows back;
  for (const Window& window : windows_of(node.attributes)) {
    back.push_back(transposed(window));
    if (window.taps.size > 1) filter = b.op("reverse", {filter}, {{"dim", window.taps}});
  }
  return b.op("conv", {gradient, filter}, {{"windows", back}, {"dims", b.dims(node.operands[0])}});
}

TensorId gradient_of_filter(GraphBuilder& b, const Node& node, TensorId gradient) {
  Windows of_filter;
  for (const Window& window : windows_of(node.attributes)) of_filter.push_back(of_taps(window));
  return b.op("conv", {node.operands[0], gradient},
              {{"windows", of_filter}, {"dims", b.dims(node.operands[1])}});
}

std::vector<TensorId> gradient(GraphBuilder& b, const Node& node, std::span<const TensorId> gradients) {
  return {gradient_of_operand(b, node, gradients[0]), gradient_of_filter(b, node, gradients[0])};
}

int64_t flops(const LocalCall& call, std::span<const LocalType> results) {
  return conv_flops(call.attributes, call.operands, results[0]);
}

int64_t workspace(const LocalCall& call, std::span<const LocalType> results) {
  return conv_workspace(call.attributes, call.operands, results[0]);
}

std::vector<Example> examples() {
  const auto use = [](ExampleOperand x, ExampleOperand w, Windows windows, std::string_view over) {
    return Example{{std::move(x), std::move(w)}, {{"windows", std::move(windows)}, {"over", dims_of(over)}}};
  };
  const DType f32 = DType::kF32;
  const Window h = sliding("h=5", "kh=3", "y=5"), w = sliding("w=7", "kw=3", "x=4");
  return {
      use(normal("b=2 h=5 w=7 c=3"), normal("kh=3 kw=3 c=3 o=2"), {padded(h, 1, 1), padded(w, 1, 1, 2)},
          "c=3"),
      use(normal("b=2 h=5 w=7 c=3", f32), normal("kh=3 kw=3 c=3 o=2", f32),
          {padded(h, 1, 1), padded(w, 1, 1, 2)}, "c=3"),
      // A step of 3 over 3 taps, padded on one side, with the channels before the positions.
      use(normal("c=3 h=11"), normal("o=2 c=3 kh=3"), {padded(sliding("h=11", "kh=3", "y=4"), 1, 0, 3)},
          "c=3"),
      // Depthwise, with gaps between the taps.
      use(normal("b=2 h=7 c=3"), normal("kh=2 c=3"), {dilated(sliding("h=7", "kh=2", "y=5"), 1, 2)}, ""),
      // Groups of channels, in a transposed convolution.
      use(normal("h=5 g=2 c=3"), normal("g=2 kh=3 c=3 o=2"),
          {dilated(padded(sliding("h=5", "kh=3", "y=11"), 2, 2), 2, 1)}, "c=3"),
      // The same positions before and after.
      use(normal("h=7"), normal("kh=5"), {padded(sliding("h=7", "kh=5", "h=7"), 3, 1)}, ""),
      // Elements are left out at both ends.
      use(normal("h=11 c=2"), normal("kh=2 c=2"), {padded(sliding("h=11", "kh=2", "y=4"), -2, -1, 2)}, "c=2"),
      use(normal("a=3 h=5 w=3"), normal("ka=2 kh=3 kw=1"),
          {sliding("a=3", "ka=2", "z=2"), padded(h, 1, 1), sliding("w=3", "kw=1", "w=3")}, ""),
  };
}

}  // namespace

extern const OpDef kOp = family_member(
    Family::kConvolution,
    {
        .name = "conv",
        .doc = "A convolution: the products of a filter, the second operand, and what its windows read of "
               "the first one, summed over the taps and the contracted dimensions. Apart from the windows it "
               "is an einsum: dimensions that both operands and the result have are groups.",
        .min_operands = 2,
        .max_operands = 2,
        .attributes = {kFilterWindows,
                       {"dims", AttributeType::kDims, false, "the dimensions of the result"},
                       {"over", AttributeType::kOver, false,
                        "the dimensions to contract, [] for none; the result keeps the others, with the "
                        "places of a window where the operand has its positions"}},
        .infer = infer,
        .examples = examples(),
        .worked =
            {worked({known("h=4", {1, 2, 3, 4}), known("k=3", {1, 10, 100})},
                    {{"windows", Windows{padded(sliding("h=4", "k=3", "y=4"), 1, 1)}}, {"over", Dims{}}},
                    {{210, 321, 432, 43}}),
             worked({known("h=5", {1, 2, 3, 4, 5}), known("k=2", {1, 10})},
                    {{"windows", Windows{padded(sliding("h=5", "k=2", "y=3"), 1, 0, 2)}}, {"over", Dims{}}},
                    {{10, 32, 54}}),
             worked({known("h=2", {1, 2}), known("k=3", {1, 10, 100})},
                    {{"windows", Windows{dilated(padded(sliding("h=2", "k=3", "y=5"), 2, 2), 2, 1)}},
                     {"over", Dims{}}},
                    {{100, 10, 201, 20, 2}})},
        .roles = roles,
        .linear_in = {{kEachOperand}},
        .gradient = gradient,
        .flops = flops,
        .workspace = workspace,
        .traits = {.multiplies = true, .in_f32 = true},
    });

}  // namespace mtfc::conv_op
