#include "core/search/fewer_devices.h"

#include <doctest/doctest.h>

#include "core/cost/cost.h"
#include "core/search/layout_search.h"
#include "core/testing/test_model.h"

namespace mtfc::fewer_devices_test {
namespace {

// Nothing but the batch is worth splitting.
Model small_model(int64_t batch) {
  TestModel m({{"batch", batch}, {"io", 4}, {"hidden", 4}});
  const TensorId x = m.input("x", m.dims({"batch", "io"}));
  const TensorId w = m.variable("w", m.dims({"io", "hidden"}), true);
  const TensorId h = m.op("h", "einsum", {x, w}, {{"dims", m.dims({"batch", "hidden"})}});
  const TensorId loss = m.op("loss", "reduce_sum", {m.op("square", {h})});
  m.output(loss);
  m.train({loss, "sgd", {{"lr", 0.1}}});
  return m.finished();
}

Hardware hardware(double latency_s) {
  Hardware made;
  made.name = "test";
  made.flops["f32"] = 1e9;
  made.memory_bandwidth = 1e12;
  made.axes["*"] = {{latency_s, 1e12}, true, {}};
  return made;
}

SearchResult searched(const Model& model, const Mesh& mesh, double latency_s) {
  SearchOptions options;
  options.entry = "train";
  return search_layouts(model, {{mesh, {}}}, hardware(latency_s), options);
}

}  // namespace

TEST_CASE("a layout that is as fast on fewer devices is found there") {
  // Whatever is sent takes longer than the whole step.
  const SearchResult alone = searched(small_model(8), Mesh({{"rows", 2}, {"cols", 256}}), 1);
  REQUIRE(alone.fewer);
  CHECK(alone.devices == 512);
  CHECK(alone.fewer->layout.mesh.devices() == 1);
  CHECK(alone.fewer->layout.rules.empty());
  // All of 1024 devices have work.
  const SearchResult shared = searched(small_model(1 << 20), Mesh({{"rows", 1024}, {"cols", 1}}), 1e-9);
  CHECK_FALSE(shared.fewer);
}

TEST_CASE("the axes that a layout does not use are dropped, and its rules keep theirs") {
  const Model model = small_model(1 << 20);
  const Hardware made = hardware(1e-9);
  SearchOptions options;
  options.entry = "train";
  const SearchTask task(model, made, options);
  FoundLayout best{{Mesh({{"rows", 5}, {"cols", 64}}), {{"batch", {1}, {}}}}};
  const Program program = task.prepared.compile(best.layout, {"train"});
  const EntryPoint& train = *program.find("train");
  best.step_s = predicted_time(program, train, predicted_counts(program, train), made).step_s;
  const std::optional<FoundLayout> fewer = on_fewer_devices(task, best);
  REQUIRE(fewer);
  CHECK(to_string(fewer->layout.mesh) == "cols:64");
  CHECK(to_string(fewer->layout) == "batch:cols");
  options.memory_limit = 1000;
  CHECK_FALSE(on_fewer_devices(task, best));  // does not fit
  best.is_fitted = true;
  CHECK_FALSE(on_fewer_devices(task, best));
}

}  // namespace mtfc::fewer_devices_test
