#include "core/rewrite/microbatch_cut.h"

#include <doctest/doctest.h>

#include <string>
#include <tuple>

namespace mtfc::microbatch_cut_test {
namespace {

const Dim kBatch{"batch", 6}, kModel{"model", 4};

// Trains `w` on `x` in three microbatches.
Model model_in_microbatches() {
  Model model;
  model.dims = {kBatch, kModel, {"microbatch", 2}};
  model.inputs = {{"x", {DType::kF32, {kBatch, kModel}}, "", {}}};
  model.variables = {{"w", {DType::kF32, {kModel}}, Init{}, true, false, {}}};
  model.train = TrainSpec{};
  model.train->microbatches = 3;
  return model;
}

// reduce_mean(tanh(x * w)) + sum(w * w). The outputs are the maximum of x, the rows of the tanh, and the
// loss.
struct Penalized {
  GraphBuilder b;
  TensorId x = b.add_input("x", {DType::kF32, {kBatch, kModel}});
  TensorId w = b.add_variable("w", {DType::kF32, {kModel}});
  TensorId data = b.op("reduce_max", {x}, {{"over", Dims{kBatch, kModel}}});
  TensorId rows = b.op("tanh", {b.op("einsum", {x, w}, {{"dims", Dims{kBatch}}})});
  TensorId mean = b.op("reduce_mean", {rows}, {{"over", Dims{kBatch}}});
  TensorId penalty = b.op("reduce_sum", {b.op("mul", {w, w})}, {{"over", Dims{kModel}}});
  TensorId loss = b.op("add", {mean, penalty});

  EntryGraph entry(TensorId of) const {
    return {"train", b.graph(), {{"data", data}, {"rows", rows}, {"", of}}, {}};
  }
};

TEST_CASE("a tensor is computed before, in or after the loop over microbatches") {
  const Penalized made;
  const Model model = model_in_microbatches();
  const EntryGraph entry = made.entry(made.loss);
  const LoopCut cut = find_cut(entry, model);
  CHECK(cut.stage(made.x) == Stage::kBefore);
  CHECK(cut.stage(made.data) == Stage::kBefore);
  CHECK(cut.stage(made.penalty) == Stage::kBefore);
  CHECK(cut.stage(made.rows) == Stage::kLoop);
  CHECK(cut.stage(made.mean) == Stage::kLoop);
  CHECK(cut.stage(made.loss) == Stage::kAfter);
}

TEST_CASE("the loop gives the rows that are outputs, and the means that the tail of the loss takes") {
  const Penalized made;
  const Model model = model_in_microbatches();
  const EntryGraph entry = made.entry(made.loss);
  const LoopCut cut = find_cut(entry, model);
  CHECK(cut.rows == std::vector<TensorId>{made.rows});
  CHECK(cut.sums == std::vector<TensorId>{made.mean});
  CHECK(cut.tail.reduced == std::vector<TensorId>{made.mean});
  CHECK(cut.tail.uses_variables == std::vector<bool>{true});
  REQUIRE(cut.tail.nodes.size() == 1);
  CHECK(cut.tail.nodes[0]->results[0] == made.loss);
}

TEST_CASE("a loss that the loop computes has no tail") {
  const Penalized made;
  const Model model = model_in_microbatches();
  const EntryGraph entry = made.entry(made.mean);
  const LoopCut cut = find_cut(entry, model);
  CHECK(cut.tail.reduced == std::vector<TensorId>{made.mean});
  CHECK(cut.tail.nodes.empty());
  CHECK(cut.tail.uses_variables == std::vector<bool>{false});
}

TEST_CASE("the dimension that counts microbatches has a name that the model does not use") {
  const Penalized made;
  const Model model = model_in_microbatches();
  const EntryGraph entry = made.entry(made.loss);
  const MicrobatchDims dims = find_cut(entry, model).dims;
  CHECK(dims.batch == kBatch);
  CHECK(dims.rows[0].part == Dim{"batch", 2});
  CHECK(dims.number == Dim{"microbatch_", 3});
}

}  // namespace
TEST_CASE("a reshape turns the rows of a batch into groups, of which a microbatch holds whole ones") {
  // Each of six rows of four becomes two groups of two, and two rows become a group of eight.
  for (const auto& [groups, tokens, units] : {std::tuple{12, 2, 6}, {6, 4, 6}, {3, 8, 3}, {24, 1, 6}}) {
    CAPTURE(groups);
    GraphBuilder b;
    const TensorId x = b.add_input("x", {DType::kF32, {kBatch, kModel}});
    const TensorId w = b.add_variable("w", {DType::kF32, {kModel}});
    const TensorId weighted = b.op("mul", {x, w});
    const Dim group{"groups", groups}, token{"tokens", tokens};
    const TensorId grouped = b.op("reshape", {weighted}, {{"dims", Dims{group, token}}});
    const TensorId sums = b.op("cumsum", {grouped}, {{"dim", token}});
    const TensorId back = b.op("reshape", {sums}, {{"dims", Dims{kBatch, kModel}}});
    const TensorId of_groups =
        b.op("reduce_mean", {b.op("square", {grouped})}, {{"over", Dims{group, token}}});
    const TensorId loss =
        b.op("add", {b.op("reduce_mean", {back}, {{"over", Dims{kBatch, kModel}}}), of_groups});
    const EntryGraph entry{"train", b.graph(), {{"back", back}, {"", loss}}, {}};
    const Model model = model_in_microbatches();
    const LoopCut cut = find_cut(entry, model);
    CHECK(cut.use(grouped) == BatchUse::kRows);
    CHECK(cut.use(back) == BatchUse::kRows);
    CHECK(cut.use(of_groups) == BatchUse::kMean);
    CHECK(cut.uses.units == units);
    REQUIRE(cut.dims.rows.size() == 2);
    CHECK(cut.dims.rows[1].part == Dim{"groups", groups / 3});
    CHECK(cut.dims.rows[1].units.size * cut.dims.rows[1].unit.size == groups / 3);
    CHECK(cut.rows == std::vector<TensorId>{back});
  }
}

TEST_CASE("microbatches that would cut groups, and rows of two kinds at once, are refused") {
  GraphBuilder b;
  const TensorId x = b.add_input("x", {DType::kF32, {kBatch, kModel}});
  const TensorId w = b.add_variable("w", {DType::kF32, {kModel}});
  const TensorId weighted = b.op("mul", {x, w});
  const Dim group{"groups", 2}, token{"tokens", 12};
  const TensorId grouped = b.op("reshape", {weighted}, {{"dims", Dims{group, token}}});
  b.name(grouped, "grouped");
  const TensorId loss = b.op("reduce_mean", {grouped}, {{"over", Dims{group, token}}});
  const Model model = model_in_microbatches();
  const EntryGraph entry{"train", b.graph(), {{"", loss}}, {}};
  try {
    find_cut(entry, model);
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) ==
          "error: 3 microbatches would cut 'groups' of 'grouped', which has 2 elements for the 6 of 'batch' "
          "(use a divisor of 2)");
  }
  const Dim three{"groups", 3};
  const TensorId whole = b.op("reshape", {weighted}, {{"dims", Dims{three, {"tokens", 8}}}});
  const TensorId pairs = b.op("einsum", {weighted, whole}, {{"dims", Dims{kBatch, three}}});
  const TensorId of_pairs = b.op("reduce_mean", {pairs}, {{"over", Dims{kBatch, three}}});
  const EntryGraph other{"train", b.graph(), {{"", of_pairs}}, {}};
  CHECK_THROWS_AS(find_cut(other, model), UserError);
}

TEST_CASE("a gradient through what microbatches compute is refused where the model states it") {
  Penalized made;
  made.b.name(made.rows, "rows");
  made.b.set_origin({"", {"model.json", 7, 5, "/ops/3"}, Phase::kForward});
  const TensorId of_data = made.b.add_gradients(made.loss, {made.x}, {"dx"})[0];
  // Neither leads through the loop: the penalty is computed before it, and the loss is linear in the mean.
  const TensorId of_penalty = made.b.add_gradients(made.penalty, {made.w}, {"dw"})[0];
  const TensorId of_mean = made.b.add_gradients(made.loss, {made.mean}, {"dmean"})[0];
  const auto refusal = [&](TensorId output) {
    try {
      find_cut({"train", made.b.graph(), {{"asked", output}, {"", made.loss}}, {}}, model_in_microbatches());
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(
      refusal(of_data) ==
      "model.json:7:5: error: /ops/3: with 'microbatches' there is no gradient through 'einsum', which each "
      "microbatch computes from a part of 'batch', but 'dx' is one (leave out 'microbatches', or this "
      "gradient; "
      "those of the loss by variables are called VARIABLE/grad)");
  CHECK(refusal(of_penalty) == "");
  CHECK(refusal(of_mean) == "");
}

TEST_CASE("data with rows of two kinds are no rows of a microbatch") {
  const Dim three{"groups", 3}, token{"tokens", 8};
  GraphBuilder b;
  const TensorId x = b.add_input("x", {DType::kF32, {kBatch, kModel}});
  const TensorId both = b.add_input("both", {DType::kF32, {kBatch, three}});
  const TensorId w = b.add_variable("w", {DType::kF32, {kModel}});
  const TensorId grouped = b.op("reshape", {b.op("mul", {x, w})}, {{"dims", Dims{three, token}}});
  const TensorId mixed = b.op("einsum", {both, grouped}, {{"dims", Dims{kBatch, token}}});
  const TensorId loss = b.op("reduce_mean", {mixed}, {{"over", Dims{kBatch, token}}});
  Model model = model_in_microbatches();
  model.inputs.push_back({"both", {DType::kF32, {kBatch, three}}, "", {}});
  const EntryGraph entry{"train", b.graph(), {{"", loss}}, {}};
  CHECK_THROWS_AS(find_cut(entry, model), UserError);
  const TensorId other = b.op("reduce_mean", {grouped}, {{"over", Dims{three, token}}});
  const EntryGraph fine{"train", b.graph(), {{"both", both}, {"", other}}, {}};
  const LoopCut cut = find_cut(fine, model);
  CHECK(cut.use(both) == BatchUse::kWhole);
  CHECK(cut.stage(both) == Stage::kBefore);
}

}  // namespace mtfc::microbatch_cut_test
