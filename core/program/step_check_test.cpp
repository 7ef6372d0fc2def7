// Tests which steps are legal where partial sums are involved.

#include "core/program/step_check.h"

#include <doctest/doctest.h>

#include "core/graph/op_registry.h"

namespace mtfc::step_check_test {
namespace {

const Mesh kLine({{"p", 4}});
const Dims kRows{{"m", 16}}, kBoth{{"m", 16}, {"k", 32}};

// Values and kernel steps, one call a line.
struct Steps {
  EntryPoint entry;

  ValueId value(const Dims& dims, const Sharding& sharding) {
    return entry.values.add({"v", {DType::kF32, dims}, sharding});
  }
  ValueId whole(const Dims& dims) { return value(dims, replicated(dims.size())); }
  ValueId sum(const Dims& dims) {
    Sharding sharding = replicated(dims.size());
    sharding.partial = {{0, ReduceKind::kSum}};
    return value(dims, sharding);
  }
  ValueId constant(double number) {
    const ValueId id = whole({});
    problem("constant", {}, id, {{"value", number}, {"dtype", DType::kF32}});
    return id;
  }
  // Adds the step and gives what is wrong with it.
  std::string problem(std::string_view op, std::vector<ValueId> inputs, ValueId output,
                      const Attributes& attributes = {}) {
    Step step;
    step.action = RunKernel{&op_named(op), attributes};
    step.inputs = std::move(inputs);
    step.outputs = {output};
    entry.steps.push_back(step);
    return step_problem(entry, step, kLine, false);
  }
};

TEST_CASE("a result is partial where a split dimension is reduced or an operand is partial, and only there") {
  Steps s;
  const Attributes over{{"over", Dims{{"k", 32}}}};
  const ValueId whole = s.whole(kBoth), split = s.value(kBoth, {{{}, {0}}, {}});
  CHECK(s.problem("reduce_sum", {split}, s.sum(kRows), over).empty());
  CHECK(s.problem("reduce_sum", {whole}, s.sum(kRows), over) ==
        "a result says that it is partial, but it is whole");
  CHECK(s.problem("reduce_max", {split}, s.sum(kRows), over) == "a result does not say that it is partial");
  CHECK(s.problem("neg", {whole}, s.sum(kBoth)) == "a result says that it is partial, but it is whole");
  CHECK(s.problem("neg", {s.sum(kBoth)}, s.sum(kBoth)).empty());
  CHECK(s.problem("neg", {s.sum(kBoth)}, s.whole(kBoth)) == "a result does not say that it is partial");
  const ValueId most = s.value(kRows, {{{}}, {{0, ReduceKind::kMax}}});
  CHECK(s.problem("neg", {s.whole(kRows)}, most) == "a result says that it is partial, but it is whole");
}

TEST_CASE("operands that are added are all partial, or constant zeros") {
  Steps s;
  CHECK(s.problem("add", {s.sum(kRows), s.sum(kRows)}, s.sum(kRows)).empty());
  CHECK(s.problem("add", {s.sum(kRows), s.whole(kRows)}, s.sum(kRows)) == "'add' needs whole operands");
  CHECK(s.problem("add", {s.sum(kRows), s.constant(0)}, s.sum(kRows)).empty());
  CHECK(s.problem("add", {s.sum(kRows), s.constant(1)}, s.sum(kRows)) == "'add' needs whole operands");
  CHECK(s.problem("mul", {s.sum(kRows), s.whole(kRows)}, s.sum(kRows)).empty());
  CHECK(s.problem("mul", {s.sum(kRows), s.sum(kRows)}, s.sum(kRows)) == "'mul' needs whole operands");
}

TEST_CASE("no part of a dimension lies in two shards") {
  const auto problem_with = [](int64_t parts) {
    Steps s;
    const Dim counted{"parts", parts};
    const ValueId x = s.value(kRows, {{{0}}, {}}), sums = s.value(kRows, {{{0}}, {}});
    const ValueId totals = s.value({counted}, {{{0}}, {}});
    Step step;
    step.action = RunKernel{&op_named("cumsum"), {{"dim", kRows[0]}, {"parts", counted}}};
    step.inputs = {x};
    step.outputs = {sums, totals};
    return step_problem(s.entry, step, kLine, false);
  };
  CHECK(problem_with(4) == "");
  CHECK(problem_with(8) == "");
  CHECK(problem_with(2) == "4 shards of a dimension would cut its 2 parts");
  CHECK(problem_with(6) == "4 shards of a dimension would cut its 6 parts");
}

TEST_CASE("a sum that begins as zero is partial") {
  Steps s;
  const Attributes dims{{"dims", kRows}};
  CHECK(s.problem("broadcast", {s.constant(0)}, s.sum(kRows), dims).empty());
  CHECK(s.problem("broadcast", {s.constant(1)}, s.sum(kRows), dims) ==
        "a result says that it is partial, but it is whole");
}

TEST_CASE("numbers other than zero are not filled into a partial sum") {
  const auto problem = [](double fill) {
    Steps s;
    return s.problem("pad", {s.sum(kRows)}, s.sum({{"more", 20}}),
                     {{"dim", Dim{"m", 16}}, {"high", int64_t{4}}, {"to", Dim{"more", 20}}, {"value", fill}});
  };
  CHECK(problem(0).empty());
  CHECK(problem(1) == "'pad' needs whole operands");
}

}  // namespace
}  // namespace mtfc::step_check_test
