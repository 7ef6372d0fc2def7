#include "core/explain/reshard_changes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/testing/test_model.h"

namespace mtfc::reshard_changes_test {
namespace {

bool changes_tensor(const std::vector<LayoutChange>& changes, const std::string& name) {
  return std::any_of(changes.begin(), changes.end(), [&](const LayoutChange& change) {
    return change.removed == name || (change.annotation && change.annotation->pattern == name);
  });
}

}  // namespace

TEST_CASE("tensors of both operations are near a collective, and those of their neighbours further away") {
  TestModel builder;
  const TensorId x = builder.input("x", {{"b", 16}, {"i", 32}});
  const TensorId y = builder.op("y", "square", {x});
  const TensorId z = builder.op("z", "relu", {y});
  const TensorId next = builder.op("next", "tanh", {z});
  builder.output(builder.op("far", "neg", {next}));
  const Model model = builder.finished();
  const Layout layout{Mesh({{"all", 4}}), {}, {{"x", {{"b", {0}, {}}}, {}}}};
  const Program program = compile(model, layout, {});
  const ExplainedProgram explained(model, layout, {}, program, *program.find("evaluate"));
  REQUIRE(explained.reshards.size() == 1);
  const ReshardStep& reshard = explained.reshards[0];
  CHECK(reshard.tensor == "y");
  REQUIRE(reshard.readers.size() == 1);
  CHECK(reshard.readers[0].name == "z");
  const ReshardChanges changes(explained, reshard);
  for (const char* near : {"x", "y", "z"}) {
    CHECK(changes_tensor(changes.nearest(), near));
    CHECK_FALSE(changes_tensor(changes.further(), near));
  }
  CHECK(changes_tensor(changes.further(), "next"));
  CHECK_FALSE(changes_tensor(changes.nearest(), "next"));
  CHECK_FALSE(changes_tensor(changes.further(), "far"));
}

}  // namespace mtfc::reshard_changes_test
