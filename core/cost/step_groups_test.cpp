#include "core/cost/step_groups.h"

#include <doctest/doctest.h>

namespace mtfc::step_groups_test {
namespace {

StepCost step(const std::string& name, double seconds, int64_t flops) {
  StepCost made;
  made.name = name;
  made.kind = "einsum";
  made.count.flops = flops;
  made.count.runs = 2;
  made.time.seconds = seconds;
  return made;
}

TEST_CASE("steps that differ only in the number of a block are a group with the sums of their figures") {
  CostReport report;
  report.time.emplace();
  report.steps = {step("logits", 4, 9), step("layer_0/y", 2, 5), step("layer_1/y", 3, 5),
                  step("layer_2/y", 1, 6)};  // has other figures
  report.memory_over_steps = {{10}, {20}, {30}, {40}, {0}};
  for (int i = 0; i < 4; ++i) report.steps[static_cast<size_t>(i)].index = i;
  const std::vector<StepGroup> groups = costliest_groups(report);
  REQUIRE(groups.size() == 3);
  CHECK(folded_name(groups[0]) == "layer_{0,1}/y");
  CHECK(groups[0].sum.time.seconds == 5);
  CHECK(groups[0].sum.count.flops == 10);
  CHECK(groups[0].sum.count.runs == 4);
  CHECK(groups[0].sum.index == 1);
  CHECK(groups[0].members == std::vector<const StepCost*>{&report.steps[1], &report.steps[2]});
  CHECK(folded_name(groups[1]) == "logits");
  CHECK(folded_name(groups[2]) == "layer_2/y");
}

TEST_CASE("a collective of several tensors is listed with their number") {
  CostReport report;
  report.steps = {step("layer_0/w/grad", 0, 5), step("layer_1/w/grad", 0, 5), step("layer_2/w/grad", 0, 5)};
  report.steps[0].others = report.steps[1].others = 3;
  report.memory_over_steps = {{10}, {20}, {30}, {40}, {0}};
  for (int i = 0; i < 3; ++i) report.steps[static_cast<size_t>(i)].index = i;
  std::vector<std::string> names;
  for (const StepGroup& group : costliest_groups(report)) names.push_back(folded_name(group));
  CHECK(names == std::vector<std::string>{"layer_{0,1}/w/grad and 3 more", "layer_2/w/grad"});
}

}  // namespace
}  // namespace mtfc::step_groups_test
