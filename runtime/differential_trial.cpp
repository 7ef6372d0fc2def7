#include "runtime/differential_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cost.h"
#include "core/entry_points.h"
#include "core/passes/expand_composites.h"
#include "core/passes/expand_gradients.h"
#include "core/passes/remove_dead.h"
#include "core/pipeline.h"
#include "runtime/comm_lockstep.h"
#include "runtime/example_data.h"
#include "runtime/executor.h"
#include "runtime/interpreter.h"

namespace mtfc {
namespace {

constexpr int kSteps = 2;        // of training
constexpr double kIllScaled = 1e7;  // larger values are not compared

HostTensor to_host(const WholeTensor& tensor) {
  HostTensor host(tensor.type);
  for (size_t i = 0; i < tensor.values.size(); ++i)
    set_element(host, static_cast<int64_t>(i), tensor.values[i]);
  return host;
}

WholeTensor from_host(const HostTensor& host) {
  WholeTensor tensor{host.type, {}};
  for (int64_t i = 0; i < elements(host.type.dims); ++i) tensor.values.push_back(element(host, i));
  return tensor;
}

// What one run of an entry point must give, by the name of the output or variable.
struct Expected {
  WholeTensors outputs;
  WholeTensors variables;  // afterwards
  double scale = 1;        // the largest value on the way
};

// The graph as the interpreter takes it: before the passes that make it cheaper.
EntryGraph plain(EntryGraph entry) {
  entry = expand_composites(entry);
  entry = expand_gradients(entry);
  return remove_dead(entry);
}

Expected interpreted(const EntryGraph& entry, const WholeTensors& leaves, const WholeTensors& variables,
                     int64_t step) {
  std::map<TensorId, HostTensor> given;
  for (const Node& node : entry.graph.nodes()) {
    if (node.kind == NodeKind::kOp) continue;
    const std::string& name = entry.graph.tensor(node.results[0]).name;
    const WholeTensors& from = node.kind == NodeKind::kVariable ? variables : leaves;
    given.emplace(node.results[0], to_host(from.at(name)));
  }
  const std::vector<HostTensor> values = interpret(entry.graph, given, {0, step});
  Expected expected{{}, variables, 1};
  const auto value_of = [&](TensorId id) { return from_host(values[static_cast<size_t>(id)]); };
  for (const NamedTensor& output : entry.outputs) expected.outputs[output.name] = value_of(output.tensor);
  for (const Assignment& assignment : entry.assignments)
    expected.variables[assignment.variable] = value_of(assignment.value);
  for (const HostTensor& value : values)
    for (int64_t i = 0; is_float(value.type.dtype) && i < elements(value.type.dims); ++i) {
      const double size = std::abs(element(value, i));
      expected.scale = std::max(expected.scale, std::isnan(size) ? kIllScaled : size);
    }
  return expected;
}

// "" where all of `found` is as expected: to rounding that grows with the values on the way.
std::string mismatch(const WholeTensors& expected, const WholeTensors& found, double scale) {
  for (const auto& [name, tensor] : expected) {
    const DType dtype = tensor.type.dtype;
    const double allowed = dtype == DType::kF32 ? 1e-4 * scale : dtype == DType::kF64 ? 1e-10 * scale : 0;
    const WholeTensor& other = found.at(name);
    if (other.type != tensor.type)
      return fmt::format("'{}' is {}, not {}", name, to_string(other.type), to_string(tensor.type));
    for (size_t i = 0; i < tensor.values.size(); ++i)
      if (!(std::abs(tensor.values[i] - other.values[i]) <= allowed))
        return fmt::format("'{}' at element {}: expected {}, found {}", name, i, tensor.values[i],
                           other.values[i]);
  }
  return "";
}

std::string wrong_counts(const EntryPoint& entry, const std::vector<StepCount>& predicted,
                         const std::vector<StepCount>& counted) {
  for (size_t s = 0; s < predicted.size(); ++s) {
    const StepCount &a = predicted[s], &b = counted[s];
    const bool contracts =
        entry.steps[s].kind == StepKind::kKernel && entry.steps[s].op->family == Family::kContraction;
    if (a.flops != b.flops || a.elements != b.elements || a.bytes_sent != b.bytes_sent ||
        (contracts && a.flops_total != b.flops_total))
      return fmt::format(
          "step {} '{}': predicted {} flops ({} in all), {} elements, {} bytes; counted {} ({}), {}, {}", s,
          entry.steps[s].name, a.flops, a.flops_total, a.elements, a.bytes_sent, b.flops, b.flops_total,
          b.elements, b.bytes_sent);
  }
  return "";
}

// A program on all of its devices in this process.
class Run {
 public:
  Run(const Program& program, const WholeTensors& leaves)
      : program_(program),
        leaves_(leaves),
        processes_(Processes::alone()),
        comm_(program.mesh(), processes_),
        executor_(program, comm_) {}

  /// "" or what differs from `expected`, whose names the outputs and variables have.
  std::string step(const char* name, int64_t step, const Expected& expected) {
    const EntryPoint& entry = *program_.find(name);
    executor_.load(entry);
    for (const Binding& input : entry.inputs)
      for (size_t device = 0; device < executor_.devices(); ++device)
        fill_part(leaves_.at(input.name), executor_.part(entry, input.value, device));
    executor_.run(entry, step);
    std::string problem = mismatch(expected.outputs, outputs(entry), expected.scale);
    if (problem.empty()) problem = mismatch(expected.variables, variables(), expected.scale);
    if (problem.empty())
      problem = wrong_counts(entry, predicted_counts(program_, entry), executor_.counts(entry));
    if (problem.empty()) problem = buffer_fault(program_, entry);
    return problem.empty() ? "" : fmt::format("{}, step {}: {}", name, step, problem);
  }

  void set_variables(const WholeTensors& values) {
    for (size_t i = 0; i < program_.variables.size(); ++i)
      for (size_t device = 0; device < executor_.devices(); ++device)
        fill_part(values.at(program_.variables[i].decl.name), executor_.variable(i, device));
  }

  WholeTensors variables() const {
    WholeTensors found;
    for (size_t i = 0; i < program_.variables.size(); ++i) {
      const VariableDecl& decl = program_.variables[i].decl;
      found[decl.name] =
          assembled(decl.name, decl.type, parts([&](size_t device) { return executor_.variable(i, device); }));
    }
    return found;
  }

 private:
  template <typename PartOf>
  std::vector<LocalPart> parts(PartOf part_of) const {
    std::vector<LocalPart> parts;
    for (size_t device = 0; device < executor_.devices(); ++device) parts.push_back(part_of(device));
    return parts;
  }

  WholeTensors outputs(const EntryPoint& entry) const {
    WholeTensors found;
    for (const Binding& output : entry.outputs)
      found[output.name] =
          assembled(output.name, entry.values[static_cast<size_t>(output.value)].type,
                    parts([&](size_t device) { return executor_.part(entry, output.value, device); }));
    return found;
  }

  const Program& program_;
  const WholeTensors& leaves_;
  Processes processes_;
  LockstepComm comm_;
  Executor executor_;
};

struct ExpectedRun {
  std::vector<Expected> train;  // by step
  Expected evaluate;
  double scale() const {
    double largest = evaluate.scale;
    for (const Expected& step : train) largest = std::max(largest, step.scale);
    return largest;
  }
};

WholeTensors variables_of(const Model& model, const WholeTensors& leaves) {
  WholeTensors variables;
  for (const VariableDecl& variable : model.variables) variables[variable.name] = leaves.at(variable.name);
  return variables;
}

ExpectedRun expected_of(const Model& model, const WholeTensors& leaves) {
  ExpectedRun expected;
  WholeTensors variables = variables_of(model, leaves);
  if (has_train_entry(model)) {
    const EntryGraph train = plain(train_entry(model, {}));
    for (int step = 0; step < kSteps; ++step) {
      expected.train.push_back(interpreted(train, leaves, variables, step));
      variables = expected.train.back().variables;
    }
  }
  expected.evaluate = interpreted(plain(evaluate_entry(model, {})), leaves, variables, 0);
  return expected;
}

// "" or how a run of `program` differs from what is expected. `initial`: what init gave on one device, or what
// it gives now where that is empty.
std::string try_program(const Program& program, const Model& model, const WholeTensors& leaves,
                        const ExpectedRun& expected, WholeTensors& initial) {
  Run run(program, leaves);
  run.set_variables(variables_of(model, leaves));
  std::string problem = run.step("init", 0, {{}, initial, 1});
  if (initial.empty()) initial = run.variables();
  run.set_variables(variables_of(model, leaves));
  for (size_t step = 0; step < expected.train.size() && problem.empty(); ++step)
    problem = run.step("train", static_cast<int64_t>(step), expected.train[step]);
  if (problem.empty()) problem = run.step("evaluate", 0, expected.evaluate);
  return problem;
}

}  // namespace

Outcome try_case(const RandomCase& random_case) {
  WholeTensors leaves;
  const Model model = model_of(random_case, leaves);
  const ExpectedRun expected = expected_of(model, leaves);
  if (expected.scale() >= kIllScaled) return {true, ""};
  const char* where = "on one device: ";
  try {
    WholeTensors initial;
    const Program single = compile(model, {}, {});
    std::string problem = try_program(single, model, leaves, expected, initial);
    if (!problem.empty()) return {false, where + problem};
    where = "under the layout: ";
    const Program split = compile(model, random_case.layout, {});
    problem = try_program(split, model, leaves, expected, initial);
    return {false, problem.empty() ? "" : where + problem};
  } catch (const std::exception& error) {
    return {false, where + std::string(error.what())};
  }
}

}  // namespace mtfc
