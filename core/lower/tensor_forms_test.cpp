#include "core/lower/tensor_forms.h"

#include <doctest/doctest.h>

namespace mtfc::tensor_forms_test {
namespace {

// One input, x[m, l], which is split over m.
ShardedEntry split_input() {
  GraphBuilder builder;
  const TensorId x = builder.add_input("x", {DType::kF32, {{"m", 16}, {"l", 8}}});
  ShardedEntry sharded;
  sharded.entry.graph = std::move(builder).build();
  sharded.entry.outputs = {{"x", x}};
  sharded.shardings = {Sharding{{{0}, {}}, {}}};
  return sharded;
}

TEST_CASE("a form is made once, and from the form that the plan says") {
  const Mesh line({{"p", 4}});
  ShardedEntry sharded = split_input();
  const TensorId x = sharded.entry.outputs[0].tensor;
  const Node& user = sharded.entry.graph.producer(x);
  const Sharding split = sharded.shardings[0], whole = replicated(2), over_l = {{{}, {0}}, {}};
  sharded.forms = {{{whole, split}, {over_l, whole}}};
  TensorForms forms(sharded, line);
  forms.add(x, sharded.shardings[0]);
  const PerStep<Step>& steps = forms.made().entry.steps;

  const ValueId gathered = forms.obtain(x, whole, user);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].collective().kind == CollectiveKind::kAllGather);
  CHECK(forms.obtain(x, whole, user) == gathered);
  CHECK(steps.size() == 2);

  forms.obtain(x, over_l, user);
  REQUIRE(steps.size() == 3);
  CHECK(steps[2].kind() == StepKind::kSlice);
  CHECK(steps[2].inputs == std::vector<ValueId>{gathered});
}

TEST_CASE("whatever reads an annotated tensor takes it from its annotated form") {
  const Mesh line({{"p", 4}});
  ShardedEntry sharded = split_input();
  const TensorId x = sharded.entry.outputs[0].tensor;
  const Node& user = sharded.entry.graph.producer(x);
  const Sharding split = sharded.shardings[0], whole = replicated(2);
  // It is made split, annotated to be whole, and read split.
  sharded.shardings = {whole};
  sharded.forms = {{{whole, split}, {split, whole}}};
  TensorForms forms(sharded, line);
  const ValueId made = forms.add(x, split);
  const ValueId read = forms.obtain(x, split, user);
  CHECK(read != made);
  const PerStep<Step>& steps = forms.made().entry.steps;
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].collective().kind == CollectiveKind::kAllGather);
  CHECK(steps[2].kind() == StepKind::kSlice);
  CHECK(steps[2].outputs == std::vector<ValueId>{read});
  CHECK(forms.value(read).name == "x@m/p@2");
  CHECK(forms.obtain(x, split, user) == read);
}

}  // namespace
}  // namespace mtfc::tensor_forms_test
