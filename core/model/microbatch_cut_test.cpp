#include "core/model/microbatch_cut.h"

#include <doctest/doctest.h>

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
  CHECK(dims.microbatch == Dim{"batch", 2});
  CHECK(dims.number == Dim{"microbatch_", 3});
}

}  // namespace
}  // namespace mtfc::microbatch_cut_test
