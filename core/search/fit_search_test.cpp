#include "core/search/fit_search.h"

#include <doctest/doctest.h>

#include <set>

#include "core/compile/memory_bound.h"
#include "core/model/zero_stage.h"
#include "core/testing/test_model.h"

namespace mtfc::fit_search_test {
namespace {

// By Adam: w of 64 KiB, and twice as much state.
Model one_layer() {
  TestModel m({{"batch", 8}, {"io", 64}, {"hidden", 256}});
  const TensorId x = m.input("x", m.dims({"batch", "io"}));
  const TensorId w = m.variable("w", m.dims({"io", "hidden"}), true);
  const TensorId h = m.op("h", "einsum", {x, w}, {{"dims", m.dims({"batch", "hidden"})}});
  const TensorId loss = m.op("loss", "reduce_sum", {m.op("square", {h})});
  m.output(loss);
  m.train({loss, "adam", {{"lr", 0.1}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}}});
  return m.finished();
}
constexpr int64_t kWeights = int64_t{64} * 256 * 4;

Hardware hardware() {
  Hardware made;
  made.name = "test";
  made.flops["f32"] = 1e11;
  made.memory_bandwidth = 1e11;
  made.axes["*"] = {{1e-6, 1e10}, true, {}};
  return made;
}

Layout shared_batch(int64_t devices) {
  return {Mesh({{"all", devices}}), {{"batch", {0}, {}}}};
}

}  // namespace

TEST_CASE("the memory of variables and state is known before anything is compiled") {
  const Model model = one_layer();
  const Layout shared = shared_batch(4);
  const auto state = [&](const Layout& layout) { return least_state_memory(model, layout); };
  const auto near = [](int64_t bytes) { return doctest::Approx(static_cast<double>(bytes)).epsilon(0.01); };
  CHECK(state({}) == near(3 * kWeights));
  CHECK(state(shared) == near(3 * kWeights));
  CHECK(state(with_zero_stage(shared, {0}, 1)) == near(kWeights + 2 * kWeights / 4));
  CHECK(state(with_zero_stage(shared, {0}, 2)) == near(kWeights + 2 * kWeights / 4));
  CHECK(state(with_zero_stage(shared, {0}, 3)) == near(3 * kWeights / 4));
  Layout open = shared;
  open.propagate = true;
  std::vector<Layout> layouts = {{}, shared, open, {shared.mesh, {{"hidden", {0}, {}}}}};
  layouts.push_back({Mesh({{"all", 3}}), {{"hidden", {0}, {}}}});  // uneven
  layouts.push_back({shared.mesh, {}, {{"w", {{"io", {0}, {}}}, {}}}});
  for (int stage = 1; stage < kZeroStages; ++stage) layouts.push_back(with_zero_stage(shared, {0}, stage));
  for (const Layout& layout : layouts) {
    CAPTURE(described(layout));
    const Program program = compile(model, layout, {});
    const int64_t lasting = lasting_memory(program, *program.find("train"));
    CHECK(state(layout) <= lasting);
    if (!layout.propagate) CHECK(state(layout) == lasting);
  }
}

TEST_CASE("a step that the model writes by hand is tried as it is") {
  TestModel m({{"batch", 8}, {"io", 64}});
  const TensorId x = m.input("x", m.dims({"batch", "io"}));
  const TensorId w = m.variable("w", m.dims({"io"}), true);
  const TensorId mean = m.op("mean", "reduce_mean", {x}, {{"dims", m.dims({"io"})}});
  m.assign("w", m.op("next", "add", {w, mean}));
  m.output(mean);
  FitOptions options;
  options.memory_limit = int64_t{1} << 20;
  const FitResult found = find_fits(m.finished(), {{}, shared_batch(4)}, hardware(), options);
  REQUIRE(found.fits.size() == 2);
  for (const FitTrial& fit : found.fits) {
    CHECK(fit.microbatches == 1);
    CHECK(!fit.stage);
  }
}

TEST_CASE("what has least state is tried first") {
  std::vector<int> stages;
  FitOptions options;
  options.memory_limit = 100 * kWeights;
  options.threads = 1;
  options.progress = [&](const FitOptions::Progress& progress) { stages.push_back(*progress.last.stage); };
  find_fits(one_layer(), {shared_batch(4)}, hardware(), options);
  CHECK(stages == std::vector<int>{3, 1, 2, 0});
}

TEST_CASE("stages whose state alone does not fit are not compiled") {
  const Model model = one_layer();
  std::set<int> tried;
  FitOptions options;
  options.memory_limit = 2 * kWeights + kWeights / 2;
  options.progress = [&](const FitOptions::Progress& progress) {
    if (progress.last.layout.mesh.devices() == 4) tried.insert(*progress.last.stage);
  };
  const FitResult found = find_fits(model, {shared_batch(1), shared_batch(4)}, hardware(), options);
  CHECK(tried == std::set<int>{1, 2, 3});
  CHECK(found.ruled_out == 2);  // one device, and stage 0 of four
  CHECK(found.is_complete);
  REQUIRE(!found.fits.empty());
  CHECK(found.fits.front().layout.mesh.devices() == 4);
  REQUIRE(found.smallest.size() == 1);
  CHECK(found.smallest[0].is_state_alone);
  CHECK(found.smallest[0].memory == least_state_memory(model, shared_batch(1)));
}

TEST_CASE("a search that is stopped while it compiles keeps what fits so far") {
  const Model model = one_layer();
  int64_t trials = 0, asked = 0;
  FitOptions options;
  options.memory_limit = 100 * kWeights;
  options.progress = [&](const FitOptions::Progress& progress) { trials = progress.trials; };
  // In the middle of the second training step.
  options.stops = [&] { return trials > 0 && ++asked > 5; };
  const FitResult found = find_fits(model, {shared_batch(4)}, hardware(), options);
  CHECK_FALSE(found.is_complete);
  CHECK(found.trials == 1);
  CHECK(found.fits.size() == 1);
}

TEST_CASE("a search that is stopped at once still says where the state alone is too large") {
  const Model model = one_layer();
  FitOptions options;
  options.memory_limit = 2 * kWeights + kWeights / 2;
  options.progress = [](const FitOptions::Progress&) {};
  options.stops = [] { return true; };
  const FitResult found = find_fits(model, {shared_batch(1), shared_batch(4)}, hardware(), options);
  CHECK_FALSE(found.is_complete);
  CHECK(found.trials == 0);
  CHECK(found.undecided == std::vector<int64_t>{4});
  REQUIRE(found.smallest.size() == 2);
  CHECK(found.smallest[0].layout.mesh.devices() == 1);
  CHECK(found.smallest[0].is_state_alone);
}

}  // namespace mtfc::fit_search_test
