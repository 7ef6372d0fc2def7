#include "core/plan/provenance.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/plan/choose_plan.h"
#include "core/testing/test_model.h"

namespace mtfc::provenance_test {
namespace {

const Mesh kSquare({{"rows", 2}, {"cols", 2}});

// x[b, k] -> h = einsum(x, w[k, h]) -> y = relu(h) -> z = rename(y, h -> c)
EntryGraph chain() {
  GraphBuilder b;
  const Dims k{{"k", 32}}, h{{"h", 64}}, batch{{"b", 16}};
  const TensorId x = b.add_input("x", {DType::kF32, unite(batch, k)});
  const TensorId w = b.add_input("w", {DType::kF32, unite(k, h)});
  const TensorId product = b.op("einsum", {x, w}, {{"dims", unite(batch, h)}});
  b.name(product, "h");
  const TensorId y = b.op("relu", {product});
  b.name(y, "y");
  const TensorId z = b.op("rename", {y}, {{"map", std::vector<Renaming>{{"h", {"c", 64}}}}});
  b.name(z, "z");
  return {"evaluate", b.graph(), {{"z", z}}, {}};
}

std::string path_text(const AxisOrigin& origin) {
  std::string text;
  for (const OriginHop& hop : origin.path)
    text += hop.operation.empty() ? hop.tensor : fmt::format(" -{}-> {}", hop.operation, hop.tensor);
  return fmt::format("{} over {}: {}", origin.dim, kSquare.names(origin.axes), text);
}

TEST_CASE(
    "each axis is traced to the tensor whose sharding is fixed, also where a dimension changes its name") {
  const Layout layout{kSquare, {{"b", {0}, {}}, {"h", {1}, {}}}, {}, true};
  const StateSplit split;
  const Shardings variables;
  const PlanConditions conditions{layout, split, variables};
  const ChosenPlan plan = choose_plan(chain(), conditions);
  const TensorOrigins z = origins_of(plan.entry, conditions, "z");
  REQUIRE(z.is_known);
  CHECK(z.fixed.kind == FixedBy::Kind::kChoice);
  CHECK(z.sharding.dims == std::vector<AxisList>{{0}, {1}});
  REQUIRE(z.axes.size() == 2);
  CHECK(path_text(z.axes[0]) == "b over rows: x -einsum-> h -relu-> y -rename-> z");
  CHECK(path_text(z.axes[1]) == "c over cols: w -einsum-> h -relu-> y -rename-> z");
  // The rule is that of the first tensor's dimension.
  CHECK(z.axes[1].fixed.text == "h:cols");
  const TensorOrigins x = origins_of(plan.entry, conditions, "x");
  CHECK(x.fixed.kind == FixedBy::Kind::kRule);
  REQUIRE(x.axes.size() == 1);
  CHECK(path_text(x.axes[0]) == "b over rows: x");
  CHECK_FALSE(origins_of(plan.entry, conditions, "q").is_known);
}

TEST_CASE("each of several axes of a dimension has a path of its own") {
  GraphBuilder b;
  const Dims dims{{"b", 16}, {"h", 64}};
  const TensorId x = b.add_input("x", {DType::kF32, dims}), w = b.add_input("w", {DType::kF32, dims});
  const TensorId y = b.op("add", {x, w});
  b.name(y, "y");
  b.annotate(x, std::make_shared<const TensorAnnotation>(TensorAnnotation{{{{0}, {}}, {}}, "x", {}}));
  b.annotate(w, std::make_shared<const TensorAnnotation>(TensorAnnotation{{{{0, 1}, {}}, {}}, "w*", {}}));
  const Layout layout{kSquare, {}, {}, true};
  const StateSplit split;
  const Shardings variables;
  const PlanConditions conditions{layout, split, variables};
  const ChosenPlan plan = choose_plan({"evaluate", b.graph(), {{"y", y}}, {}}, conditions);
  const TensorOrigins origins = origins_of(plan.entry, conditions, "y");
  CHECK(origins.sharding.dims == std::vector<AxisList>{{0, 1}, {}});
  REQUIRE(origins.axes.size() == 2);
  CHECK(path_text(origins.axes[0]) == "b over rows: x -add-> y");
  CHECK(origins.axes[0].fixed.text == "x");
  CHECK(path_text(origins.axes[1]) == "b over cols: w -add-> y");
  CHECK(origins.axes[1].fixed.text == "w*");
}

}  // namespace
}  // namespace mtfc::provenance_test
