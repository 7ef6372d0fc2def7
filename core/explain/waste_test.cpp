#include "core/explain/waste.h"

#include <doctest/doctest.h>

#include "core/compile/pipeline.h"
#include "core/testing/test_model.h"

namespace mtfc::waste_test {
namespace {

// A product of x[batch, io] and w[io, hidden].
Program compiled(int64_t batch, int64_t hidden, const Mesh& mesh,
                 const std::vector<std::pair<std::string, AxisList>>& rules) {
  TestModel model;
  const TensorId x = model.input("x", {{"batch", batch}, {"io", 8}});
  const TensorId w = model.variable("w", {{"io", 8}, {"hidden", hidden}});
  model.output(model.op("y", "einsum", {x, w}, {{"dims", Dims{{"batch", batch}, {"hidden", hidden}}}}));
  return model.compiled(mesh, rules);
}

Waste waste(const Program& program) {
  return waste_of(program, *program.find("evaluate"));
}

}  // namespace

TEST_CASE("nothing is wasted if sizes divide evenly over all axes") {
  const Waste none =
      waste(compiled(8, 8, Mesh({{"rows", 2}, {"cols", 4}}), {{"batch", {0}}, {"hidden", {1}}}));
  CHECK(none.unused_axes.empty());
  CHECK(none.uneven.empty());
  CHECK_FALSE(none.state);
}

TEST_CASE("an axis that splits nothing, unless it has one device") {
  const Waste found = waste(compiled(8, 8, Mesh({{"rows", 2}, {"cols", 4}, {"one", 1}}), {{"batch", {0}}}));
  CHECK(found.unused_axes == std::vector<int>{1});
}

TEST_CASE("devices without a part of a dimension, and those with more than others") {
  const Waste idle = waste(compiled(1, 8, Mesh({{"dp", 4}}), {{"batch", {0}}}));
  REQUIRE(idle.uneven.size() == 1);
  CHECK(idle.uneven[0].dim == Dim{"batch", 1});
  CHECK(idle.uneven[0].parts == 4);
  CHECK(idle.uneven[0].empty == 3);
  CHECK(idle.uneven[0].excess() == doctest::Approx(3));
  // One device does all of the 2*1*8*8 operations, a quarter of which is the mean.
  CHECK(idle.uneven[0].flops == 96);

  const Waste uneven = waste(compiled(5, 8, Mesh({{"dp", 4}}), {{"batch", {0}}}));
  REQUIRE(uneven.uneven.size() == 1);
  CHECK(uneven.uneven[0].empty == 0);
  CHECK(uneven.uneven[0].largest == 2);
  CHECK(uneven.uneven[0].excess() == doctest::Approx(0.6));
  CHECK(uneven.uneven[0].flops == 96);  // 2*2*8*8 in place of 1.25 rows
  CHECK(waste(compiled(101, 8, Mesh({{"dp", 4}}), {{"batch", {0}}})).uneven.empty());  // 26 of 25.25: 3 %
}

TEST_CASE("the split with idle devices comes before one that is only uneven") {
  const Waste found =
      waste(compiled(3, 5, Mesh({{"rows", 4}, {"cols", 4}}), {{"batch", {0}}, {"hidden", {1}}}));
  REQUIRE(found.uneven.size() == 2);
  CHECK(found.uneven[0].dim.name == "batch");
  CHECK(found.uneven[1].dim.name == "hidden");
}

TEST_CASE("optimizer state that devices along an axis hold copies of") {
  Program program = compiled(8, 8, Mesh({{"rows", 2}, {"cols", 4}}), {{"batch", {0}}, {"hidden", {1}}});
  ProgramVariable state = program.variables.front();
  state.decl.optimizer_state = true;
  state.bytes = 8 << 20;  // split over cols
  program.variables.push_back(state);
  const std::optional<CopiedState> found = waste(program).state;
  REQUIRE(found);
  CHECK(found->axis == 0);
  CHECK(found->bytes == 8 << 20);
  CHECK(found->least == 4 << 20);
  program.layout.state.axes = {0};  // the layout has decided it
  CHECK_FALSE(waste(program).state);
  program.layout.state.axes = {};
  program.variables.back().bytes = 1 << 20;  // too little to speak of
  CHECK_FALSE(waste(program).state);
}

}  // namespace mtfc::waste_test
