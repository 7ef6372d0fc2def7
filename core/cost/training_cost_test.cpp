#include "core/cost/training_cost.h"

#include <doctest/doctest.h>

#include "core/cost/cost.h"

namespace mtfc::training_cost_test {
namespace {

Program program_of(const std::vector<TensorType>& inputs) {
  Program program;
  program.layout.mesh = Mesh({{"rows", 2}, {"cols", 4}});
  for (const TensorType& type : inputs) program.inputs.push_back({"x", type, "", {}});
  return program;
}

CostReport step_of(double seconds) {
  CostReport report;
  report.entry = "train";
  report.time.emplace().step_s = seconds;
  return report;
}

}  // namespace

TEST_CASE("tokens are the elements of the largest input of whole numbers, or else rows") {
  const TensorType images{DType::kF32, {{"batch", 16}, {"pixels", 784}}};
  const TensorType labels{DType::kI32, {{"batch", 16}}};
  const TensorType tokens{DType::kI32, {{"batch", 16}, {"length", 128}}};
  CHECK(tokens_per_step(program_of({tokens, labels})) == 2048);
  CHECK(tokens_per_step(program_of({images, labels})) == 16);
  CHECK(tokens_per_step(program_of({images})) == 16);
  CHECK(tokens_per_step(program_of({})) == 0);
}

TEST_CASE("steps, time and money for a number of tokens") {
  const Program program = program_of({{DType::kI32, {{"batch", 10}, {"length", 100}}}});
  const CostReport report = step_of(0.5);
  const std::optional<TrainingCost> bare = training_cost(program, report, {});
  REQUIRE(bare);
  CHECK(bare->tokens_per_step == 1000);
  CHECK(bare->tokens_per_second == doctest::Approx(2000));
  CHECK_FALSE(bare->tokens);
  const std::optional<TrainingCost> cost = training_cost(program, report, {7.2e6 + 1, 2.5});
  REQUIRE(cost);
  CHECK(cost->steps == 7201);  // one token needs a step too
  CHECK(cost->seconds == doctest::Approx(3600.5));
  CHECK(cost->device_hours == doctest::Approx(8 * 3600.5 / 3600));
  CHECK(*cost->price == doctest::Approx(20 * 3600.5 / 3600));
  CHECK_FALSE(training_cost(program, report, {1e6, {}})->price);
  CostReport evaluation = report;
  evaluation.entry = "evaluate";
  CHECK_FALSE(training_cost(program, evaluation, {1e6, 1.0}));
  CHECK_FALSE(training_cost(program_of({}), report, {1e6, 1.0}));
}

}  // namespace mtfc::training_cost_test
