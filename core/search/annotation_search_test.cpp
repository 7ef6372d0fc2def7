#include "core/search/annotation_search.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "core/testing/test_model.h"

namespace mtfc::annotation_search_test {
namespace {

// Two layers of three products each, whose operands share dimensions.
Model layers() {
  TestModel m({{"batch", 64}, {"io", 96}, {"hidden", 160}});
  TensorId h = m.input("x", m.dims({"batch", "io"}));
  for (const std::string layer : {"one", "two"}) {
    const TensorId w = m.variable(layer + "/w", m.dims({"io", "hidden"}), true);
    const TensorId v = m.variable(layer + "/v", m.dims({"hidden", "io"}), true);
    const TensorId wide = m.op(layer + "/wide", "einsum", {h, w}, {{"dims", m.dims({"batch", "hidden"})}});
    h = m.op(layer + "/y", "einsum", {m.op("relu", {wide}), v}, {{"dims", m.dims({"batch", "io"})}});
  }
  const TensorId loss = m.op("loss", "reduce_sum", {m.op("square", {h})});
  m.output(loss);
  m.train({loss, "sgd", {{"lr", 0.1}}});
  return m.finished();
}

}  // namespace

TEST_CASE(
    "a search that is stopped has the best plan that was chosen by then, and what is known of the others") {
  const Model model = layers();
  const Layout mesh{Mesh({{"r", 2}, {"c", 2}}), {}};
  int64_t asked = 0;
  const auto searched = [&](int64_t most) {
    asked = 0;
    return search_annotations(model, mesh, {{}, 1, true}, {},
                              {[&] { return ++asked > most; }, [] { return false; }, [] { return false; }});
  };
  const std::optional<AnnotatedLayout> all = searched(INT64_MAX);
  REQUIRE(all);
  REQUIRE(all->is_complete);
  const int64_t looks = asked;
  bool has_chosen = false, has_bound = false;
  for (int64_t part = 1; part < 40; ++part) {
    CAPTURE(part);
    const std::optional<AnnotatedLayout> found = searched(looks * part / 40);
    REQUIRE(found);
    CHECK(found->cost >= all->bound);
    CHECK(found->bound <= all->cost);
    if (found->is_complete) continue;
    has_chosen = has_chosen || found->layout.propagate;
    has_bound = has_bound || found->bound > 0;
  }
  CHECK(has_chosen);
  CHECK(has_bound);
}

}  // namespace mtfc::annotation_search_test
