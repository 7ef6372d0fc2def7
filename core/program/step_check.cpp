#include "core/program/step_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/diagnostics/suggest.h"
#include "core/op_rules/pieces.h"
#include "core/program/collective_cost.h"
#include "core/program/fused_grid.h"
#include "core/program/ring.h"
#include "core/program/sent_elements.h"
#include "core/tensors/relayout.h"

namespace mtfc {
namespace {

const Sharding& sharding_of(const EntryPoint& entry, ValueId id) {
  return entry.values[id].sharding;
}

// "" if the step has a workspace of so many bytes, otherwise what is wrong. `what`: what needs it.
std::string workspace_problem(const EntryPoint& entry, const Step& step, int64_t needed, const char* what) {
  const int64_t bytes = step.workspace == kNoBuffer ? 0 : entry.buffers[step.workspace].bytes;
  return bytes < needed ? fmt::format("the {} needs {} bytes of workspace", what, needed) : "";
}

std::string attribute_problem(const Step& step) {
  const Signature& signature = step.op()->signature;
  for (const AttributeSpec& spec : signature.attributes)
    if (spec.required && !step.attributes().has(spec.name))
      return fmt::format("'{}' needs the attribute '{}'", signature.name, spec.name);
  for (const auto& [name, value] : step.attributes().entries()) {
    const AttributeSpec* spec = find_named(signature.attributes, name);
    if (!spec) return fmt::format("'{}' has no attribute '{}'", signature.name, name);
    if (!holds(value, spec->type)) return fmt::format("the attribute '{}' is of another type", name);
  }
  return "";
}

// "" if the types of the step's values fit its operation, otherwise what is wrong.
std::string type_problem(const EntryPoint& entry, const Step& step) {
  const Signature& signature = step.op()->signature;
  const auto count = static_cast<int>(step.inputs.size());
  if (count < signature.min_operands || (signature.max_operands >= 0 && count > signature.max_operands))
    return fmt::format("'{}' does not take {} operands", signature.name, count);
  if (std::string problem = attribute_problem(step); !problem.empty()) return problem;
  try {
    const std::vector<TensorType> operands = global_types(entry, step.inputs);
    if (signature.infer({step.attributes(), operands}) != global_types(entry, step.outputs))
      return fmt::format("the results don't have the types that '{}' returns", signature.name);
  } catch (const OpError& error) {
    return error.what();
  }
  return "";
}

std::vector<Sharding> shardings_of(const EntryPoint& entry, const std::vector<ValueId>& values) {
  std::vector<Sharding> found;
  for (const ValueId id : values) found.push_back(sharding_of(entry, id));
  return found;
}

bool all_are(const std::vector<AxisList>& lists, const AxisList& wanted) {
  return std::all_of(lists.begin(), lists.end(), [&](const AxisList& list) { return list == wanted; });
}

// The axes of the factor's dimension in each tensor that has it.
std::vector<AxisList> axes_of(const std::vector<int>& positions, const std::vector<Sharding>& shardings) {
  std::vector<AxisList> found;
  for (size_t i = 0; i < positions.size(); ++i)
    if (positions[i] >= 0) found.push_back(shardings[i].dims[static_cast<size_t>(positions[i])]);
  return found;
}

bool is_partial_over(const Sharding& sharding, const AxisList& axes, ReduceKind kind) {
  return std::all_of(axes.begin(), axes.end(), [&](int axis) {
    return std::find(sharding.partial.begin(), sharding.partial.end(), Partial{axis, kind}) !=
           sharding.partial.end();
  });
}

std::string factor_problem(const Factor& factor, const std::vector<Sharding>& operand_shardings,
                           const std::vector<Sharding>& result_shardings, bool exchanges) {
  const std::vector<AxisList> operands = axes_of(factor.operands, operand_shardings),
                              results = axes_of(factor.results, result_shardings);
  switch (factor.kind) {
    case Factor::Kind::kPass: {
      const AxisList& wanted = operands.empty() ? results.at(0) : operands[0];
      return all_are(operands, wanted) && all_are(results, wanted) ? "" : "a dimension is split in two ways";
    }
    case Factor::Kind::kReduce:
      if (!all_are(operands, operands.at(0)) || !all_are(results, operands[0]))
        return "a dimension is split in two ways";
      for (size_t r = 0; r < result_shardings.size(); ++r)
        if (factor.results[r] < 0 && !is_partial_over(result_shardings[r], operands[0], factor.reduce))
          return "a result does not say that it is partial";
      return "";
    case Factor::Kind::kNeedsReplication:
      return all_are(operands, {}) && all_are(results, {}) ? "" : "a dimension that must be whole is split";
    case Factor::Kind::kPermuted:
      // An exchange takes operands that are split alike; a kernel takes whole ones, unless nothing moves.
      return all_are(operands, exchanges ? operands.at(0) : AxisList{})
                 ? ""
                 : "the moved dimension of an operand is split";
  }
  return "";
}

// True if the value is a constant zero: its sum over devices is zero too, so it can count as partial.
bool is_zero(const EntryPoint& entry, ValueId id) {
  const ValueId root = root_of(entry, id);
  const auto makes_zero = [&](const Step& step) {
    return step.op() && step.op()->traits.is_constant && step.outputs == std::vector<ValueId>{root} &&
           attribute_problem(step).empty() && step.attributes().get<double>("value") == 0;
  };
  return std::any_of(entry.steps.begin(), entry.steps.end(), [&](const Step& step) {
    return makes_zero(step) || std::any_of(step.members().begin(), step.members().end(), makes_zero);
  });
}

// True if the step gives a sum over the axis because its operands are terms of one.
bool lets_sum_through(const EntryPoint& entry, const Step& step, const std::vector<Factor>& factors,
                      int axis) {
  SumOperands operands;
  for (const ValueId id : step.inputs) {
    operands.partial.push_back(sharding_of(entry, id).is_partial(axis));
    operands.zero.push_back(!operands.partial.back() && is_zero(entry, id));
  }
  const std::vector<TensorType> types = global_types(entry, step.inputs);
  return passes_sum(*step.op(), {step.attributes(), types}, factors, operands);
}

// Checks that the operation is linear in its partial operands together, that its result stays partial, and
// that its result is partial for no other reason than these operands or the dimensions that it reduces.
std::string partial_problem(const EntryPoint& entry, const Step& step, const std::vector<Factor>& factors) {
  const std::vector<Sharding> operands = shardings_of(entry, step.inputs),
                              results = shardings_of(entry, step.outputs);
  const auto pass = [&](int axis) { return lets_sum_through(entry, step, factors, axis); };
  for (const Sharding& operand : operands)
    for (const Partial& partial : operand.partial) {
      if (partial.kind != ReduceKind::kSum) return "an operand is partial, but not a sum";
      if (!pass(partial.axis)) return fmt::format("'{}' needs whole operands", step.op()->signature.name);
      for (const Sharding& result : results)
        if (!result.is_partial(partial.axis)) return "a result does not say that it is partial";
    }
  for (const Sharding& result : results)
    for (const Partial& partial : result.partial)
      if (!becomes_partial(factors, operands, partial) &&
          (partial.kind != ReduceKind::kSum || !pass(partial.axis)))
        return "a result says that it is partial, but it is whole";
  return "";
}

AxisList sorted(AxisList axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

// True if the step's operation moves pieces, and every device holds the pieces that it needs.
bool has_all_pieces(const EntryPoint& entry, const Step& step, const std::vector<Factor>& factors,
                    const Mesh& mesh) {
  const Factor* moved = moved_factor(factors);
  if (!moved) return false;
  const Sharding& first = sharding_of(entry, step.inputs[0]);
  const AxisList axes = sorted(first.dims[static_cast<size_t>(moved->operands[0])]);
  return moved_pieces(entry, step, axes, mesh).none();
}

// The axes over which the operands' dimension of the factor is split.
AxisList split_of(const Factor& factor, const EntryPoint& entry, const Step& step) {
  for (size_t i = 0; i < factor.operands.size(); ++i)
    if (factor.operands[i] >= 0)
      return sharding_of(entry, step.inputs[i]).dims[static_cast<size_t>(factor.operands[i])];
  return {};
}

// "" if windows split the operands just as the factors demand.
std::string windows_problem(const std::vector<Factor>& factors, const std::vector<Sharding>& operands,
                            const std::vector<Sharding>& results) {
  std::vector<AxisList> split;
  for (const Factor& factor : factors) {
    const std::vector<AxisList> in_operands = axes_of(factor.operands, operands),
                                in_results = axes_of(factor.results, results);
    split.push_back(!in_operands.empty() ? in_operands[0] : !in_results.empty() ? in_results[0] : AxisList{});
  }
  if (splits_twice(factors, split)) return "the places and the taps of a window are both split";
  std::vector<Sharding> wanted;
  for (const Sharding& operand : operands) wanted.push_back(replicated(operand.dims.size()));
  for (size_t f = 0; f < factors.size(); ++f) split_operands(factors[f], split[f], wanted);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].windows != wanted[i].windows) return "an operand does not hold what its window reads";
    for (const Factor& factor : factors)
      for (const OperandWindow& window : factor.windows)
        if (static_cast<size_t>(window.operand) == i &&
            operands[i].dims[window.split.dim] != wanted[i].dims[window.split.dim])
          return "an operand does not hold what its window reads";
  }
  for (const Sharding& result : results)
    if (!result.windows.empty()) return "a window splits a result";
  return "";
}

std::string operation_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  if (std::string problem = type_problem(entry, step); !problem.empty()) return problem;
  const std::vector<TensorType> operands = global_types(entry, step.inputs),
                                results = global_types(entry, step.outputs);
  if (step.op()->family == Family::kRelabel) {
    // A relabelling moves no elements, so there is no such step, except for the copy that an assignment
    // needs.
    if (operands != results)
      return fmt::format("'{}' does not make a step: its result is a value with 'alias_of'",
                         step.op()->signature.name);
    return sharding_of(entry, step.inputs[0]) == sharding_of(entry, step.outputs[0])
               ? ""
               : "a copy is split in another way";
  }
  const std::vector<Factor> factors = step.op()->roles({step.attributes(), operands}, results);
  const bool takes_split_dims = step.kind() == StepKind::kStart || has_all_pieces(entry, step, factors, mesh);
  const std::string problem = factors_problem(factors, shardings_of(entry, step.inputs),
                                              shardings_of(entry, step.outputs), takes_split_dims);
  if (!problem.empty()) return problem;
  if (std::string windows =
          windows_problem(factors, shardings_of(entry, step.inputs), shardings_of(entry, step.outputs));
      !windows.empty())
    return windows;
  for (const Factor& factor : factors)
    if (factor.parts > 0 && factor.parts % mesh.size(split_of(factor, entry, step)) != 0)
      return fmt::format("{} shards of a dimension would cut its {} parts",
                         mesh.size(split_of(factor, entry, step)), factor.parts);
  return partial_problem(entry, step, factors);
}

std::string kernel_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh, bool has_buffers) {
  if (!step.op()) return "a kernel needs an operation";
  if (std::string problem = operation_problem(entry, step, mesh); !problem.empty()) return problem;
  if (!has_buffers) return "";
  const int64_t needed =
      kernel_workspace(*step.op(), {step.attributes(), largest_types(entry, step.inputs, mesh)},
                       largest_types(entry, step.outputs, mesh))
          .bytes;
  return workspace_problem(entry, step, needed, "kernel");
}

// Checks that the members are kernels that fit together, read only the step's inputs and each other's
// results, and make its outputs.
std::string fused_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh, bool has_buffers) {
  std::set<ValueId> known(step.inputs.begin(), step.inputs.end()), made;
  for (const Step& member : step.members()) {
    if (member.kind() != StepKind::kKernel || member.workspace != kNoBuffer)
      return "a member must be a kernel";
    if (std::string problem = kernel_problem(entry, member, mesh, has_buffers); !problem.empty())
      return problem;
    for (const ValueId id : member.inputs)
      if (known.count(id) == 0) return "a member reads a value that is neither an input nor made before it";
    for (const ValueId id : member.outputs)
      if (!known.insert(id).second || !made.insert(id).second)
        return "a member makes a value that exists already";
  }
  for (const ValueId id : step.outputs)
    if (made.count(id) == 0) return "no member makes an output";
  const std::optional<FusedGrid> grid = find_grid(entry, step, mesh);
  if (!grid) return "the members can't run as one step";
  return std::is_sorted(grid->order.begin(), grid->order.end()) ? "" : "the members are in the wrong order";
}

bool are_axes_of_a_group(const AxisList& axes) {
  return !axes.empty() && std::is_sorted(axes.begin(), axes.end()) &&
         std::adjacent_find(axes.begin(), axes.end()) == axes.end();
}

// True if a collective of this kind, over these axes, leads from one sharding of a tensor to the other.
bool makes_change(const Value& from, const Value& to, const Step& step, const Mesh& mesh) {
  return facts_of(step.collective().kind).group({from.type.dims, from.sharding, to.sharding, mesh}) ==
         step.collective().axes;
}

// Checks that both values have the same elements in row-major order, and that the step's axes are those along
// which the elements move.
std::string move_problem(const Value& from, const Value& to, const Step& step, const Mesh& mesh) {
  if (from.type.dtype != to.type.dtype || elements(from.type.dims) != elements(to.type.dims))
    return "the result has other elements than the operand";
  if (from.sharding.partial != to.sharding.partial) return "only a reduction makes a partial value whole";
  if (from.sharding.windows != to.sharding.windows) {
    if (from.type.dims != to.type.dims) return "a relabelling gives or takes what a window reads";
    if (!from.sharding.windows.empty()) {
      const bool keeps =
          step.kind() == StepKind::kSlice && covers(from.type.dims, from.sharding, to.sharding, mesh);
      return keeps ? ""
                   : "what a window reads goes to an operation with windows, or keeps the device's shard";
    }
  }
  const AxisList moving =
      moving_axes({from.type.dims, from.sharding.whole(), to.type.dims, to.sharding.whole()}, mesh);
  if (step.kind() == StepKind::kSlice) {
    const MovedTensor operand{from.type.dims, from.sharding}, result{to.type.dims, to.sharding};
    return SentElements(operand, result, moving, mesh).none() ? "" : "a slice needs what other devices hold";
  }
  if (!std::includes(step.collective().axes.begin(), step.collective().axes.end(), moving.begin(),
                     moving.end()))
    return "elements move along an axis that the collective is not over";
  if (facts_of(step.collective().kind).general) return "";
  return from.type == to.type && makes_change(from, to, step, mesh)
             ? ""
             : fmt::format("an {} does not lead from the operand to the result",
                           to_string(step.collective().kind));
}

std::string reduction_problem(const Value& from, const Value& to, const Step& step, const Mesh& mesh) {
  if (from.type != to.type) return "the result is of another type than the operand";
  std::vector<Partial> left = from.sharding.partial;
  for (const int axis : step.collective().axes) {
    const auto at = std::find(left.begin(), left.end(), Partial{axis, step.collective().reduce});
    if (at == left.end()) return "the operand is not partial in the way that is reduced";
    left.erase(at);
  }
  if (left != to.sharding.partial) return "the result is partial in another way";
  if (works_in_place(step.collective().kind))
    return from.sharding.dims == to.sharding.dims ? "" : "the result is split in another way";
  return makes_change(from, to, step, mesh) ? ""
                                            : fmt::format("a {} does not lead from the operand to the result",
                                                          to_string(step.collective().kind));
}

std::string combined_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh) {
  const std::set<ValueId> operands(step.inputs.begin(), step.inputs.end()),
      results(step.outputs.begin(), step.outputs.end());
  if (operands.size() != step.inputs.size() || results.size() != step.outputs.size())
    return "an all_reduce has the same operand or result twice";
  const DType dtype = entry.values[step.inputs[0]].type.dtype;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const Value &from = entry.values[step.inputs[i]], &to = entry.values[step.outputs[i]];
    if (from.type.dtype != dtype) return "an all_reduce has operands of several dtypes";
    if (std::string problem = reduction_problem(from, to, step, mesh); !problem.empty()) return problem;
  }
  return "";
}

std::string collective_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh,
                               bool has_buffers) {
  if (!are_axes_of_a_group(step.collective().axes))
    return "the axes of a collective are distinct and in the order of the mesh";
  if (step.inputs.empty() || step.outputs.size() != (is_combined(step) ? step.inputs.size() : 1))
    return "a collective has an operand and one result, and an all_reduce of several a result for each";
  std::string problem;
  const Value &from = entry.values[step.inputs[0]], &to = entry.values[step.outputs[0]];
  if (step.op()) {
    if (!facts_of(step.collective().kind).general) return "only an exchange does the work of an operation";
    if (problem = operation_problem(entry, step, mesh); !problem.empty()) return problem;
    const std::vector<TensorType> operands = global_types(entry, step.inputs),
                                  results = global_types(entry, step.outputs);
    const std::vector<Factor> factors = step.op()->roles({step.attributes(), operands}, results);
    const Factor* moved = moved_factor(factors);
    if (!moved) return fmt::format("'{}' moves no pieces", step.op()->signature.name);
    if (sorted(from.sharding.dims[static_cast<size_t>(moved->operands[0])]) != step.collective().axes)
      return "elements move along other axes than the exchange is over";
  } else if (is_combined(step)) {
    problem = combined_problem(entry, step, mesh);
  } else if (step.inputs.size() != 1) {
    return "a collective has one operand";
  } else {
    problem = reduces(step.collective().kind) ? reduction_problem(from, to, step, mesh)
                                              : move_problem(from, to, step, mesh);
  }
  if (!problem.empty() || !has_buffers) return problem;
  return workspace_problem(entry, step, collective_workspace(entry, step, mesh), "collective");
}

// Checks the product as if it were computed at once: a turning operand as it would be gathered, a turning result as it
// would be before its partial sums are added.
std::string ring_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh, bool has_buffers) {
  const RunRing& action = *step.as<RunRing>();
  if (!step.op() || !step.op()->traits.can_turn) return "a ring needs an operation that can turn";
  if (step.inputs.size() != 2 || step.outputs.size() != 1) return "a ring has two operands and one result";
  if (step.inputs[0] == step.inputs[1]) return "the operands of a ring are the same value";
  if (!are_axes_of_a_group(action.axes))
    return "the axes of a ring are distinct and in the order of the mesh";
  const ValueId turning = turning_value(step);
  if (!turning_dim(sharding_of(entry, turning), action.axes))
    return fmt::format("'{}' is not split over the axes of the ring", entry.values[turning].name);
  if (mesh.size(action.axes) < 2) return "a ring has at least two devices";
  const std::vector<TensorType> operands = global_types(entry, step.inputs);
  if (without(unite(operands[0].dims, operands[1].dims), entry.values[step.outputs[0]].type.dims).empty())
    return "a ring contracts a dimension";
  const Ring ring(entry, step, mesh);
  if (ring.adds_copies()) return "devices would add up copies of the result in different orders";
  EntryPoint at_once;
  std::vector<Sharding> shardings = ring.operands_at_once();
  shardings.push_back(ring.result_at_once());
  for (size_t i = 0; i < shardings.size(); ++i) {
    const Value& value = entry.values[i < 2 ? step.inputs[i] : step.outputs[0]];
    if (uses_axis_twice(shardings[i]))
      return fmt::format("'{}' is partial over the axes of the ring", value.name);
    at_once.values.push_back({value.name, value.type, shardings[i], kNoBuffer});
  }
  Step product;
  product.action = action.product;
  product.inputs = {ValueId(0), ValueId(1)};
  product.outputs = {ValueId(2)};
  if (std::string problem = operation_problem(at_once, product, mesh); !problem.empty()) return problem;
  if (!has_buffers) return "";
  if (step.workspace == kNoBuffer) return "a ring needs a workspace";
  return workspace_problem(entry, step, ring.workspace().bytes(), "ring");
}

std::string control_problem(const EntryPoint& entry, const Step& step) {
  if (!step.outputs.empty()) return fmt::format("a {} has no results", to_string(step.kind()));
  if (step.as<RunLoop>()) return "the steps of the loop are missing";
  if (const auto* loop = step.as<BeginLoop>(); loop && loop->times < 0) return "'times' is not allowed here";
  if (step.kind() != StepKind::kLeave)
    return step.inputs.empty() ? "" : fmt::format("a {} has no operands", to_string(step.kind()));
  if (step.inputs.size() != 1) return "a leave has one operand, its condition";
  const Value& condition = entry.values[step.inputs[0]];
  return condition.type == TensorType{DType::kBool, {}} && condition.sharding.partial.empty()
             ? ""
             : "the condition is not a bool scalar";
}

}  // namespace

std::string factors_problem(const std::vector<Factor>& factors, const std::vector<Sharding>& operands,
                            const std::vector<Sharding>& results, bool exchanges) {
  for (const Factor& factor : factors)
    if (std::string problem = factor_problem(factor, operands, results, exchanges); !problem.empty())
      return problem;
  return "";
}

bool becomes_partial(const std::vector<Factor>& factors, const std::vector<Sharding>& operands,
                     const Partial& partial) {
  return std::any_of(factors.begin(), factors.end(), [&](const Factor& factor) {
    if (factor.kind != Factor::Kind::kReduce || factor.reduce != partial.kind) return false;
    const std::vector<AxisList> split = axes_of(factor.operands, operands);
    return std::find(split.at(0).begin(), split.at(0).end(), partial.axis) != split.at(0).end();
  });
}

bool passes_sum(const OpDef& op, const OpCall& call, const std::vector<Factor>& factors,
                const SumOperands& operands) {
  const size_t count = operands.partial.size();
  const Factor* moved = moved_factor(factors);
  if (moved && moved->fill != 0) return false;
  const std::vector<std::vector<int>> sets = linear_sets(op, call);
  return std::any_of(sets.begin(), sets.end(), [&](const std::vector<int>& set) {
    for (size_t i = 0; i < count; ++i) {
      const bool is_in_set = std::find(set.begin(), set.end(), static_cast<int>(i)) != set.end();
      if (is_in_set ? !operands.partial[i] && !operands.zero[i] : operands.partial[i]) return false;
    }
    return true;
  });
}

std::string step_problem(const EntryPoint& entry, const Step& step, const Mesh& mesh, bool has_buffers) {
  switch (step.kind()) {
    case StepKind::kFused:
      return fused_problem(entry, step, mesh, has_buffers);
    case StepKind::kKernel:
      return kernel_problem(entry, step, mesh, has_buffers);
    case StepKind::kRing:
      return ring_problem(entry, step, mesh, has_buffers);
    case StepKind::kSlice:
      if (step.inputs.size() != 1 || step.outputs.size() != 1)
        return "a slice has one operand and one result";
      return move_problem(entry.values[step.inputs[0]], entry.values[step.outputs[0]], step, mesh);
    case StepKind::kStart:
      return collective_problem(entry, step, mesh, has_buffers);
    case StepKind::kWait:
      return "";
    case StepKind::kLoop:
    case StepKind::kLeave:
    case StepKind::kRepeat:
      return control_problem(entry, step);
  }
  return "";
}

}  // namespace mtfc
