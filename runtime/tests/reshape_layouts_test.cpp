// Every reshape, slice and pad under every rule set is either refused because the layout is illegal, or right.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "runtime/testing/reference.h"

namespace mtfc::reshape_layouts_test {
namespace {

struct Counts {
  int64_t rule_sets = 0;
  int64_t legal = 0;
  int64_t without_collective = 0;
  std::vector<std::string> wrong;
};

// "" if `program` gives what is expected, and makes no collective that sends nothing.
std::string problem_of(const Program& program, const WholeTensors& inputs, const WholeTensors& expected,
                       Counts& counts) {
  const EntryPoint& entry = *program.find("evaluate");
  const std::vector<StepCount> counted = predicted_counts(program, entry);
  bool communicates = false;
  for (size_t s = 0; s < entry.steps.size(); ++s) {
    if (entry.steps[s].kind() != StepKind::kStart) continue;
    communicates = true;
    if (counted[s].bytes_sent == 0) return entry.steps[s].name + " sends nothing";
  }
  counts.without_collective += communicates ? 0 : 1;
  return difference(expected, run_in_lockstep(program, inputs));
}

struct Trial {
  std::string op;
  Dims from, to;
  Attributes attributes;
};

void try_layouts(const Trial& trial, const Mesh& mesh, bool lists, Counts& counts) {
  const auto& [op, from, to, attributes] = trial;
  WholeTensors inputs;
  const Example example{{{{DType::kF32, from}, Fill::kNormal, 0}}, attributes};
  const Model model = model_of(op, example, false, inputs);
  const WholeTensors expected = reference_outputs(model, inputs);
  for (const Layout& layout : all_rule_sets(mesh, unite(from, to), lists)) {
    ++counts.rule_sets;
    std::string problem;
    try {
      const Program program = compile(model, layout, {});
      problem = problem_of(program, inputs, expected, counts);
      ++counts.legal;
      if (!is_legal(model, layout)) problem = "an illegal layout was accepted";
    } catch (const UserError& error) {
      if (is_legal(model, layout)) problem = error.what();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (!problem.empty())
      counts.wrong.push_back(fmt::format("{}: [{}] -> [{}] mesh {} layout {}: {}", op, to_string(from),
                                         to_string(to), to_string(mesh), to_string(layout), problem));
  }
}

void report(const Counts& counts) {
  for (size_t i = 0; i < counts.wrong.size() && i < 10; ++i) FAIL_CHECK(counts.wrong[i]);
  CHECK(counts.wrong.empty());
}

void try_reshape(const Dims& from, const Dims& to, const Mesh& mesh, bool lists, Counts& counts) {
  try_layouts({"reshape", from, to, {{"dims", to}}}, mesh, lists, counts);
}

Counts try_all(const Mesh& mesh, bool lists) {
  Counts counts;
  try_reshape({{"a", 16}, {"b", 8}}, {{"c", 16}, {"d", 8}}, mesh, lists, counts);
  try_reshape({{"a", 16}, {"b", 8}}, {{"c", 4}, {"d", 4}, {"e", 8}}, mesh, lists, counts);
  try_reshape({{"a", 15}, {"b", 7}}, {{"c", 21}, {"d", 5}}, mesh, lists, counts);
  report(counts);
  return counts;
}

TEST_CASE("reshapes, at most one axis per dimension") {
  for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{{4, 2}, {2, 2}, {3, 2}}) {
    const Counts counts = try_all(Mesh({{"rows", rows}, {"cols", cols}}), false);
    MESSAGE(fmt::format("mesh {}x{}: {} rule sets, {} legal", rows, cols, counts.rule_sets, counts.legal));
    CHECK(counts.rule_sets == 405);
    CHECK(counts.legal == 189);
  }
}

TEST_CASE("reshapes, lists of axes") {
  const Counts counts = try_all(Mesh({{"rows", 2}, {"cols", 2}}), true);
  MESSAGE(fmt::format("{} rule sets, {} legal", counts.rule_sets, counts.legal));
  CHECK(counts.rule_sets == 4375);
  CHECK(counts.legal == 451);
}

TEST_CASE("tiny tensors, of which some devices hold nothing, need no collective where nothing moves") {
  for (const Mesh& mesh : {Mesh({{"rows", 2}, {"cols", 2}}), Mesh({{"rows", 3}, {"cols", 2}})}) {
    Counts counts;
    try_reshape({{"a", 8}}, {{"c", 2}, {"d", 4}}, mesh, true, counts);
    try_reshape({{"c", 2}, {"d", 4}}, {{"a", 8}}, mesh, true, counts);
    try_reshape({{"a", 1}, {"b", 3}}, {{"c", 3}, {"d", 1}}, mesh, true, counts);
    const Dim four{"a", 4}, three{"a", 3};
    for (int64_t start = 0; start < 4; ++start)
      try_layouts({"slice",
                   {four, {"l", 2}},
                   {{"c", 1}, {"l", 2}},
                   {{"dim", four}, {"start", start}, {"limit", start + 1}, {"to", Dim{"c", 1}}}},
                  mesh, true, counts);
    for (const char* side : {"low", "high"})
      try_layouts({"pad",
                   {three, {"l", 2}},
                   {{"c", 4}, {"l", 2}},
                   {{"dim", three}, {side, int64_t{1}}, {"to", Dim{"c", 4}}}},
                  mesh, true, counts);
    report(counts);
    CHECK(counts.without_collective > 100);
  }
}

}  // namespace
}  // namespace mtfc::reshape_layouts_test
