// `mtfc verify` sees an error of ten times the rounding of an operation, of every operation and dtype, and raises no
// alarm without one.
//
// The rounding is measured apart from the code that bounds it: how much an element of the result changes if one element
// of an operand after the other does by a rounding, all changes added up, and a rounding of the element itself.

#include "runtime/execute/rounding.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/compile/pipeline.h"
#include "core/graph/op_registry.h"
#include "core/op_rules/example.h"
#include "core/testing/sanitized.h"
#include "runtime/comm/comm_lockstep.h"
#include "runtime/execute/replay.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/sharded_runs.h"

namespace mtfc::rounding_test {
namespace {

// The distance between 1 and the next number in f32 and f64. A sum of bf16 is rounded once at the end, by half of it.
double epsilon(DType dtype) {
  if (dtype == DType::kBF16) return 0x1p-8;
  return dtype == DType::kF32 ? 0x1p-23 : 0x1p-52;
}

// A call of an operation on whole tensors in f64.
struct WideCall {
  std::vector<HostTensor> operands;
  WholeKernel kernel;

  std::vector<std::vector<double>> run() {
    std::vector<const HostTensor*> pointers;
    for (const HostTensor& operand : operands) pointers.push_back(&operand);
    std::vector<std::vector<double>> numbers;
    for (const HostTensor& value : kernel.run(pointers, {})) numbers.push_back(numbers_of(value));
    return numbers;
  }
};

TensorType widened(TensorType type) {
  if (is_float(type.dtype)) type.dtype = DType::kF64;
  return type;
}

WideCall wide_call(const std::string& kind, const Attributes& attributes, const WholeTensors& inputs,
                   size_t operands) {
  const RunKernel kernel{&op_named(kind), attributes};
  std::vector<HostTensor> values;
  std::vector<TensorType> types;
  for (size_t i = 0; i < operands; ++i) {
    const WholeTensor& input = inputs.at(fmt::format("x{}", i));
    // What the run reads is rounded to the dtype of the operand.
    const std::vector<double> rounded = numbers_of(value_of(input.type, input.values));
    types.push_back(widened(input.type));
    values.push_back(value_of(types.back(), rounded));
  }
  return {std::move(values), {kernel, types, kernel.op->signature.infer({attributes, types}), "y0"}};
}

// For each element of each result: the sum over all elements of operands of what a relative change of one changes.
std::vector<std::vector<double>> sensitivities(WideCall& call) {
  constexpr double kStep = 1e-6;
  const std::vector<std::vector<double>> base = call.run();
  std::vector<std::vector<double>> sums;
  for (const std::vector<double>& each : base) sums.emplace_back(each.size(), 0);
  for (HostTensor& operand : call.operands) {
    if (operand.type.dtype != DType::kF64) continue;
    auto* elements = reinterpret_cast<double*>(operand.data.data());
    for (size_t e = 0; e < operand.size(); ++e) {
      const double before = elements[e];
      if (before == 0 || !std::isfinite(before)) continue;
      elements[e] = before * (1 + kStep);
      const auto up = call.run();
      elements[e] = before * (1 - kStep);
      const auto down = call.run();
      elements[e] = before;
      for (size_t r = 0; r < base.size(); ++r)
        for (size_t i = 0; i < base[r].size(); ++i) {
          // Where one side jumps, as at a tie of a rounding to integers, the other counts.
          const double change = std::min(std::abs(up[r][i] - base[r][i]), std::abs(down[r][i] - base[r][i]));
          if (std::isfinite(change)) sums[r][i] += change / kStep;
        }
    }
  }
  return sums;
}

struct Planted {
  std::string name;  // of the result
  size_t element = 0;
  double error = 0;
};

Comparison replayed(const Program& whole, const Program& split, const WholeTensors& inputs,
                    const Planted& planted) {
  Processes processes = Processes::alone();
  LockstepComm comm(split.mesh(), processes);
  Executor executor(split, comm);
  Recorder recorder(executor);
  const EntryPoint& entry = *split.find("evaluate");
  executor.load(entry);
  for (size_t device = 0; device < executor.devices(); ++device)
    for (const Binding& input : entry.inputs)
      fill_shard(inputs.at(input.name), executor.shard(entry, input.value, device));
  Recording recording = recorder.run(entry, 0);
  for (const ValueId id : recording.values.ids())
    if (tensor_name(entry.values[id].name) == planted.name)
      for (Record& made : recording.values[id]) {
        std::vector<double> numbers = numbers_of(made.value);
        numbers[planted.element] += planted.error;
        made.value = value_of(made.value.type, numbers);
      }
  Comparison comparison;
  replay(whole, *whole.find("evaluate"), recording, {}, comparison);
  return comparison;
}

std::string differing(const Comparison& comparison) {
  if (!comparison.first) return "";
  const Difference& first = *comparison.first;
  return fmt::format("{}[{}]: {} instead of {}, allowed {}", first.tensor.name, first.element, first.found,
                     first.expected, first.allowed);
}

// Errors of ten roundings, one for each result that has a number to plant one in: where the rounding is largest.
std::vector<Planted> errors_of(const std::string& kind, const Example& example, const Model& model,
                               const WholeTensors& inputs) {
  const Example wide = with_floats(example, DType::kF64);
  WideCall call = wide_call(kind, wide.attributes, inputs, example.operands.size());
  const std::vector<std::vector<double>> results = call.run(), changes = sensitivities(call);
  std::vector<TensorType> types;
  for (const ExampleOperand& operand : example.operands) types.push_back(operand.type);
  const std::vector<TensorType> found = op_named(kind).signature.infer({example.attributes, types});
  std::vector<Planted> planted;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!is_float(found[r].dtype)) continue;
    Planted largest{model.outputs[r].name};
    for (size_t i = 0; i < results[r].size(); ++i) {
      if (!std::isfinite(results[r][i])) continue;
      const double rounding = 2 * epsilon(found[r].dtype) * (std::abs(results[r][i]) + changes[r][i]);
      if (10 * rounding > largest.error) largest = {largest.name, i, 10 * rounding};
    }
    if (largest.error > 0) planted.push_back(largest);
  }
  return planted;
}

// Layouts of two devices that split nothing, and each dimension alone.
std::vector<Layout> layouts_of(const Model& model) {
  const Mesh mesh({{"p", 2}});
  std::vector<Layout> layouts = {{mesh, {}}};
  for (const Dim& dim : model.dims)
    if (Layout layout{mesh, {{dim.name, {0}, {}}}}; is_legal(model, layout)) layouts.push_back(layout);
  return layouts;
}

size_t try_example(const std::string& kind, const Example& example) {
  WholeTensors inputs;
  const Model model = model_of(kind, example, false, inputs);
  CompileOptions options;
  options.keep_all = true;
  const Program whole = compile(model, {}, options);
  const std::vector<Planted> errors = errors_of(kind, example, model, inputs);
  for (const Layout& layout : layouts_of(model)) {
    const std::string where = to_string(layout);
    CAPTURE(where);
    const Program split = compile(model, layout, options);
    CHECK(differing(replayed(whole, split, inputs, {})) == "");
    for (const Planted& error : errors) {
      CAPTURE(error.name);
      CAPTURE(error.error);
      CHECK(replayed(whole, split, inputs, error).first);
    }
  }
  return errors.size();
}

}  // namespace

TEST_CASE("an error of ten times the rounding is found in the result of every operation") {
  for (const OpDef* op : all_ops()) {
    const std::string kind(op->signature.name);
    CAPTURE(kind);
    size_t planted = 0, floats = 0;
    for (size_t e = 0; e < op->signature.examples.size(); ++e)
      for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
        if (kSanitized && dtype != DType::kF32) continue;
        const std::string type = fmt::format("{} in example {}", to_string(TensorType{dtype, {}}), e);
        CAPTURE(type);
        const Example example = with_floats(op->signature.examples[e], dtype);
        std::vector<TensorType> types;
        for (const ExampleOperand& operand : example.operands) types.push_back(operand.type);
        for (const TensorType& result : op->signature.infer({example.attributes, types}))
          if (is_float(result.dtype)) ++floats;
        planted += try_example(kind, example);
      }
    CHECK((planted > 0) == (floats > 0));
  }
}

// What the largest elements could add up to is far above what is added here.
TEST_CASE("an error of ten times the rounding is found in attention and its gradient of ordinary size") {
  const auto of = [](const std::string& dims) { return normal(dims, DType::kF32); };
  const Attributes attributes = {{"over", dim_of("m=48")},
                                 {"dim", dim_of("k=16")},
                                 {"positions", dim_of("l=48")},
                                 {"causal", true},
                                 {"scale", 0.25}};
  std::vector<ExampleOperand> operands = {of("b=1 l=48 k=16"), of("b=1 m=48 k=16"), of("b=1 m=48 k=16")};
  CHECK(try_example("attention", {operands, attributes}) == 2);
  for (const ExampleOperand& more : {positive("b=1 l=48", DType::kF32), of("b=1 l=48"), of("b=1 l=48 k=16")})
    operands.push_back(more);
  CHECK(try_example("attention_gradient", {operands, attributes}) == 3);
}

}  // namespace mtfc::rounding_test
