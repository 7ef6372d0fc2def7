// Every reshape under every rule set is either refused because the layout is illegal, or right.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/passes/pipeline.h"
#include "runtime/testing/reference.h"

namespace mtfc::reshape_layouts_test {
namespace {

struct Counts {
  int64_t rule_sets = 0;
  int64_t legal = 0;
  std::vector<std::string> wrong;
};

void try_reshape(const Dims& from, const Dims& to, const Mesh& mesh, bool lists, Counts& counts) {
  WholeTensors inputs;
  const Example example{{{{DType::kF32, from}, Fill::kNormal, 0}}, {{"dims", to}}};
  const Model model = model_of("reshape", example, false, inputs);
  const WholeTensors expected = reference_outputs(model, inputs);
  REQUIRE(expected.at("y0").values == inputs.at("x0").values);
  for (const Layout& layout : all_rule_sets(mesh, unite(from, to), lists)) {
    ++counts.rule_sets;
    std::string problem;
    try {
      problem = difference(expected, run_in_lockstep(compile(model, layout, {}), inputs));
      ++counts.legal;
      if (!is_legal(model, layout)) problem = "an illegal layout was accepted";
    } catch (const UserError& error) {
      if (is_legal(model, layout)) problem = error.what();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (!problem.empty())
      counts.wrong.push_back(fmt::format("[{}] -> [{}] mesh {} layout {}: {}", to_string(from), to_string(to),
                                         to_string(mesh), to_string(layout), problem));
  }
}

Counts try_all(const Mesh& mesh, bool lists) {
  Counts counts;
  try_reshape({{"a", 16}, {"b", 8}}, {{"c", 16}, {"d", 8}}, mesh, lists, counts);
  try_reshape({{"a", 16}, {"b", 8}}, {{"c", 4}, {"d", 4}, {"e", 8}}, mesh, lists, counts);
  try_reshape({{"a", 15}, {"b", 7}}, {{"c", 21}, {"d", 5}}, mesh, lists, counts);
  for (size_t i = 0; i < counts.wrong.size() && i < 10; ++i) FAIL_CHECK(counts.wrong[i]);
  CHECK(counts.wrong.empty());
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

}  // namespace
}  // namespace mtfc::reshape_layouts_test
