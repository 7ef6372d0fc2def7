// Every operation under every layout: the compiled program gives what the interpreter does with the graph as it
// is before the passes. MTFC_ALL_MESHES=1 tries more meshes, whose sizes divide dimensions as some of the others do;
// scripts/fuzz_layouts.sh sets it.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <span>

#include "core/compile/pipeline.h"
#include "core/graph/op_registry.h"
#include "core/testing/sanitized.h"
#include "core/testing/settings.h"
#include "runtime/testing/example_data.h"
#include "runtime/testing/reference.h"

namespace mtfc::every_layout_test {
namespace {

constexpr int64_t kMostDevices = kSanitized ? 4 : 8;

// Under sanitizers one layout of seven, a number that no dimension has choices, so that all choices meet.
bool is_tried(int64_t number) {
  return !kSanitized || number % 7 == 0;
}

std::vector<Mesh> meshes() {
  std::vector<std::vector<int64_t>> shapes = {{2}, {3}, {8}, {2, 2}, {3, 2}, {2, 2, 2}};
  if (setting("MTFC_ALL_MESHES", 0) > 0) shapes.insert(shapes.end(), {{1}, {4}, {6}, {2, 4}});
  std::vector<Mesh> all;
  for (const std::vector<int64_t>& sizes : shapes) {
    std::vector<Axis> axes;
    for (const int64_t size : sizes)
      axes.push_back({std::string(1, static_cast<char>('p' + axes.size())), size});
    all.emplace_back(axes);
    if (all.back().devices() > kMostDevices) all.pop_back();
  }
  return all;
}

struct Tally {
  int64_t seen = 0;
  int64_t ran = 0;
  int64_t refused = 0;
  std::vector<std::string> wrong;
};

// A model of one example of an operation, with the values that every layout has to give.
struct ExampleRun {
  std::string label;
  Model model;
  WholeTensors inputs, expected;
};

void try_layout(const ExampleRun& example, const Layout& layout, Tally& tally) {
  if (!is_tried(tally.seen++)) return;
  const bool legal = is_legal(example.model, layout);
  std::string problem;
  try {
    const Program program = compile(example.model, layout, {});
    if (!legal) problem = "an illegal layout was accepted";
    if (legal) problem = difference(example.expected, run_in_lockstep(program, example.inputs));
  } catch (const UserError& error) {
    if (legal) problem = fmt::format("a legal layout was refused: {}", error.what());
  } catch (const std::exception& error) {
    problem = error.what();
  }
  ++(legal ? tally.ran : tally.refused);
  if (!problem.empty())
    tally.wrong.push_back(fmt::format("{} mesh {} layout {}: {}", example.label, to_string(layout.mesh),
                                      to_string(layout), problem));
}

// All rule sets, or, of tensors with so many dimensions that there would be tens of thousands, a sample.
std::vector<Layout> layouts_of(const Mesh& mesh, const Dims& dims) {
  constexpr int kSample = 60;
  const size_t axes = mesh.axes().size();
  if (std::pow(axes + 1, dims.size()) <= 1100)
    return all_rule_sets(mesh, dims, axes == 2 && dims.size() <= 4);
  std::mt19937_64 random(1);
  std::vector<Layout> layouts;
  for (int i = 0; i < kSample; ++i) {
    Layout layout{mesh, {}};
    for (const Dim& dim : dims)
      if (const auto axis = static_cast<int>(random() % (axes + 3)); axis < static_cast<int>(axes))
        layout.rules.push_back({dim.name, {axis}, {}});
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

ExampleRun run_of(const std::string& kind, const std::string& label, const Example& example) {
  ExampleRun run{label, {}, {}, {}};
  run.model = model_of(kind, example, true, run.inputs);
  run.expected = reference_outputs(run.model, run.inputs);
  return run;
}

void try_everywhere(const Signature& signature, Tally& tally) {
  const std::string kind(signature.name);
  CAPTURE(kind);
  for (size_t e = 0; e < signature.examples.size(); ++e) {
    const ExampleRun example = run_of(kind, fmt::format("{} example {}", kind, e), signature.examples[e]);
    for (const Mesh& mesh : meshes())
      for (const Layout& layout : layouts_of(mesh, example.model.dims)) try_layout(example, layout, tally);
  }
}

// In bf16, on one mesh of each number of devices up to four; under sanitizers on three devices alone.
void try_in_bf16(const Signature& signature, Tally& tally) {
  const std::string kind(signature.name);
  CAPTURE(kind);
  for (size_t e = 0; e < signature.examples.size(); ++e) {
    const ExampleRun example = run_of(kind, fmt::format("{} example {} in bf16", kind, e),
                                      with_floats(signature.examples[e], DType::kBF16));
    const std::vector<Mesh> all = {Mesh({{"p", 3}}), Mesh({{"p", 2}}), Mesh({{"p", 2}, {"q", 2}})};
    for (const Mesh& mesh : std::span(all).first(kSanitized ? 1 : all.size()))
      for (const Layout& layout : layouts_of(mesh, example.model.dims)) try_layout(example, layout, tally);
  }
}

// The example with another dtype in place of that of its first operand that has no dtype of its own, and of all
// operands that share it.
Example with_dtype(const Signature& signature, Example example, DType dtype) {
  const auto is_own = [&](size_t operand) {
    return std::any_of(signature.own_dtypes.begin(), signature.own_dtypes.end(),
                       [&](const OwnDType& own) { return static_cast<size_t>(own.operand) == operand; });
  };
  std::optional<DType> replaced;
  for (size_t i = 0; i < example.operands.size(); ++i) {
    ExampleOperand& operand = example.operands[i];
    if (is_own(i) || (replaced && *replaced != operand.type.dtype)) continue;
    replaced = operand.type.dtype;
    operand.type.dtype = dtype;
    if (dtype == DType::kBool)
      operand.fill = Fill::kBool;
    else if (operand.fill == Fill::kBool || (!is_float(dtype) && operand.fill == Fill::kNormal))
      operand.fill = Fill::kSteps;
  }
  return example;
}

bool is_accepted(const Signature& signature, const Example& example) {
  std::vector<TensorType> types;
  for (const ExampleOperand& operand : example.operands) types.push_back(operand.type);
  try {
    signature.infer({example.attributes, types});
  } catch (const OpError&) {
    return false;
  }
  return true;
}

// With every dtype that its signature accepts, on one device and on two, with one dimension split at a time.
void try_dtypes(const Signature& signature, Tally& tally) {
  const std::string kind(signature.name);
  CAPTURE(kind);
  const Mesh pair({{"p", 2}});
  for (size_t e = 0; e < signature.examples.size(); ++e)
    for (const DType dtype :
         {DType::kF32, DType::kF64, DType::kBF16, DType::kI32, DType::kI64, DType::kBool}) {
      const Example example = with_dtype(signature, signature.examples[e], dtype);
      if (!is_accepted(signature, example)) continue;
      const ExampleRun run =
          run_of(kind, fmt::format("{} example {} in {}", kind, e, to_string(dtype)), example);
      try_layout(run, {pair, {}}, tally);
      for (const Dim& dim : run.model.dims) try_layout(run, {pair, {{dim.name, {0}, {}}}}, tally);
    }
}

void report(const Tally& tally) {
  MESSAGE(fmt::format("{} layouts ran, {} were refused as illegal", tally.ran, tally.refused));
  for (size_t i = 0; i < tally.wrong.size() && i < 10; ++i) FAIL_CHECK(tally.wrong[i]);
  CHECK(tally.wrong.empty());
  CHECK(tally.ran > 0);
}

// Two halves, so that they can run side by side.
void try_half(size_t half) {
  Tally tally;
  const std::vector<const OpDef*>& ops = all_ops();
  for (size_t i = half; i < ops.size(); i += 2) try_everywhere(ops[i]->signature, tally);
  const std::vector<const CompositeDef*>& composites = all_composites();
  for (size_t i = half; i < composites.size(); i += 2) try_everywhere(composites[i]->signature, tally);
  report(tally);
}

TEST_CASE("every operation with every dtype that it accepts") {
  Tally tally;
  for (const OpDef* op : all_ops()) try_dtypes(op->signature, tally);
  for (const CompositeDef* composite : all_composites()) try_dtypes(composite->signature, tally);
  report(tally);
}

TEST_CASE("every operation under every layout, first half") {
  try_half(0);
}
TEST_CASE("every operation under every layout, second half") {
  try_half(1);
}

TEST_CASE("every operation in bf16 under layouts of up to four devices") {
  Tally tally;
  for (const OpDef* op : all_ops()) try_in_bf16(op->signature, tally);
  for (const CompositeDef* composite : all_composites()) try_in_bf16(composite->signature, tally);
  report(tally);
}

}  // namespace
}  // namespace mtfc::every_layout_test
