#include "core/program/reshard_list.h"

#include <doctest/doctest.h>

#include "core/testing/test_model.h"

namespace mtfc::reshard_list_test {
namespace {

const Mesh kLine({{"p", 4}});

TEST_CASE("a collective is listed with the operations at both of its ends") {
  TestModel model;
  const TensorId x = model.input("x", {{"b", 16}, {"k", 32}}), w = model.variable("w", {{"k", 32}, {"h", 8}});
  const TensorId h = model.op("h", "einsum", {x, w}, {{"dims", Dims{{"b", 16}, {"h", 8}}}});
  const TensorId y = model.op("y", "relu", {h}), z = model.op("z", "exp", {h});
  model.output(y);
  model.output(z);
  const Program program = model.compiled(kLine, {{"k", {0}}});
  const std::vector<ReshardStep> steps = reshard_steps(program, *program.find("evaluate"));
  REQUIRE(steps.size() == 1);
  const ReshardStep& sum = steps[0];
  CHECK(sum.tensor == "h");
  CHECK(sum.collective.kind == CollectiveKind::kAllReduce);
  CHECK(to_string(sum.from, kLine) == "[b, h, sum over p]");
  CHECK(to_string(sum.to, kLine) == "[b, h]");
  CHECK(sum.bytes == 2 * (16 * 8 * 4) * 3 / 4);
  CHECK(sum.maker.kind == "einsum");
  // Both readers are members of one fused step.
  REQUIRE(sum.readers.size() == 2);
  CHECK(sum.readers[0].kind == "relu");
  CHECK(sum.readers[1].kind == "exp");
  CHECK(sum.readers[0].tensors == std::vector<std::string>{"h", "y"});
}

TEST_CASE("inputs and outputs are the ends of what no operation makes or reads") {
  TestModel model;
  const TensorId x = model.input("x", {{"b", 16}});
  const TensorId y = model.op("y", "rename", {x}, {{"map", std::vector<Renaming>{{"b", {"c", 16}}}}});
  model.declare({{"c", 16}});
  model.output(y);
  const Program program = model.compiled(kLine, {{"b", {0}}});
  const std::vector<ReshardStep> steps = reshard_steps(program, *program.find("evaluate"));
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].maker.kind == "input");
  CHECK(steps[0].maker.name == "x");
  REQUIRE(steps[0].readers.size() == 1);
  CHECK(steps[0].readers[0].kind == "output");
}

TEST_CASE("the largest come first, all rounds of a loop together") {
  std::vector<ReshardStep> all(3);
  all[0].bytes = 10;
  all[1].bytes = 6;
  all[1].runs = 2;
  all[2].bytes = 11;
  const std::vector<ReshardStep> two = largest(all, 2);
  REQUIRE(two.size() == 2);
  CHECK(two[0].all_bytes() == 12);
  CHECK(two[1].all_bytes() == 11);
}

}  // namespace
}  // namespace mtfc::reshard_list_test
