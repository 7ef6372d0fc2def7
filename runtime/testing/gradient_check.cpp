#include "runtime/testing/gradient_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/model/entry_points.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/reference.h"

namespace mtfc {
namespace {

// Smooth enough for differences: no kinks where small integers tie, nothing that hides a dependence.
bool is_smooth(const Model& model) {
  static const std::set<std::string_view> kRough{"relu",       "maximum",    "minimum",       "abs", "mod",
                                                 "reduce_max", "reduce_min", "stop_gradient", "cast"};
  for (const Node& node : model.graph.nodes())
    if (node.kind == NodeKind::kOp && kRough.count(node.op->signature.name) > 0) return false;
  return std::all_of(model.graph.tensors().begin(), model.graph.tensors().end(), [](const Tensor& tensor) {
    return tensor.type.dtype != DType::kF32 && tensor.type.dtype != DType::kBF16;
  });
}

// A scalar, a leaf and the gradient of the one in the other, by their names.
struct Slope {
  std::string scalar, leaf, gradient;
};

// True if a tensor is a leaf that no comparison sees.
bool can_move(const RandomCase& random_case, const Tensor& tensor) {
  const Item& item = random_case.items[static_cast<size_t>(tensor.node)];
  return is_leaf(item) && (item.fill == Fill::kNormal || item.fill == Fill::kPositive);
}

std::vector<Slope> slopes_of(const RandomCase& random_case, const Model& model) {
  std::vector<Slope> slopes;
  const auto name = [&](TensorId id) { return model.graph.tensor(id).name; };
  for (const Node& node : model.graph.nodes()) {
    if (node.kind != NodeKind::kGradients) continue;
    for (size_t i = 0; i < node.results.size(); ++i)
      if (can_move(random_case, model.graph.tensor(node.operands[i + 1])))
        slopes.push_back({name(node.operands[0]), name(node.operands[i + 1]), name(node.results[i])});
  }
  return slopes;
}

class Function {
 public:
  Function(const Model& model, const std::vector<Slope>& slopes, WholeTensors leaves)
      : leaves_(std::move(leaves)) {
    std::vector<std::string> keep;
    for (const Slope& slope : slopes) keep.insert(keep.end(), {slope.scalar, slope.gradient});
    entry_ = plain_entry(entry_named(model, "evaluate", keep));
  }

  /// The delivered tensors where `leaf` has moved by `distance` along `direction`.
  std::map<std::string, HostTensor> at(const std::string& leaf, const std::vector<double>& direction,
                                       double distance) const {
    std::map<TensorId, HostTensor> given;
    for (const Node& node : entry_.graph.nodes()) {
      if (node.kind == NodeKind::kOp) continue;
      const std::string& name = entry_.graph.tensor(node.results[0]).name;
      const WholeTensor& whole = leaves_.at(name);
      HostTensor host(whole.type);
      for (size_t i = 0; i < whole.values.size(); ++i)
        set_element(host, static_cast<int64_t>(i),
                    whole.values[i] + (name == leaf ? distance * direction[i] : 0));
      given.emplace(node.results[0], std::move(host));
    }
    const PerTensor<HostTensor> values = interpret(entry_.graph, given);
    std::map<std::string, HostTensor> delivered;
    for (const NamedTensor& output : entry_.outputs) delivered.emplace(output.name, values[output.tensor]);
    return delivered;
  }

  double slope(const Slope& of, const std::vector<double>& direction, double distance) const {
    const double ahead = element(at(of.leaf, direction, distance).at(of.scalar), 0);
    const double behind = element(at(of.leaf, direction, -distance).at(of.scalar), 0);
    return (ahead - behind) / (2 * distance);
  }

 private:
  EntryGraph entry_;
  WholeTensors leaves_;
};

}  // namespace

GradientOutcome compare_gradients(const RandomCase& random_case) {
  GradientOutcome outcome;
  WholeTensors leaves;
  const Model model = model_of(random_case, leaves);
  const std::vector<Slope> slopes = is_smooth(model) ? slopes_of(random_case, model) : std::vector<Slope>{};
  if (slopes.empty()) return outcome;
  const Function function(model, slopes, leaves);
  for (const Slope& slope : slopes) {
    const WholeTensor& leaf = leaves.at(slope.leaf);
    const std::vector<double> direction = drawn({leaf.type, Fill::kNormal, 0}, random_case.seed + 7).values;
    const HostTensor gradient = function.at(slope.leaf, direction, 0).at(slope.gradient);
    double expected = 0;
    for (size_t i = 0; i < direction.size(); ++i)
      expected += direction[i] * element(gradient, static_cast<int64_t>(i));
    const double near = function.slope(slope, direction, 1e-6), far = function.slope(slope, direction, 4e-6);
    const double allowed = 1e-4 * (1 + std::abs(expected));
    // If steps of two lengths disagree, neither gives the slope.
    if (!(std::abs(near - far) <= 0.1 * allowed)) continue;
    ++outcome.compared;
    if (!(std::abs(near - expected) <= allowed))
      outcome.fault = fmt::format("'{}' along a direction is {}, but '{}' changes by {}", slope.gradient,
                                  expected, slope.scalar, near);
  }
  return outcome;
}

}  // namespace mtfc
