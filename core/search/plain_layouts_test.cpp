#include "core/search/plain_layouts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/testing/test_model.h"

namespace mtfc::plain_layouts_test {
namespace {

// A layer of attention and one of a hidden layer, by their weights: both share d_model, and only heads and d_kv share
// others.
Model transformer(int64_t heads) {
  TestModel m(
      {{"batch", 64}, {"d_model", 32}, {"heads", heads}, {"d_kv", 16}, {"d_ff", 128}, {"vocab", 1000}});
  const TensorId x = m.input("x", m.dims({"batch", "d_model"}));
  const auto product = [&](const std::vector<TensorId>& operands, const std::vector<std::string>& names) {
    return m.op("einsum", operands, {{"dims", m.dims(names)}});
  };
  const auto weight = [&](const std::string& name, const std::vector<std::string>& names) {
    return m.variable(name, m.dims(names), true);
  };
  // In another order than the rest of the model has, since only inputs say what the batch is.
  const TensorId table = weight("table", {"vocab", "d_ff"});
  const TensorId q = weight("q", {"heads", "d_kv", "d_ff"});
  const TensorId h = product({x, weight("w", {"d_model", "heads"})}, {"batch", "heads"});
  m.output(product({h, q}, {"batch", "d_kv"}));
  m.output(product({x, weight("v", {"d_model", "vocab"})}, {"batch", "vocab"}));
  m.output(table);
  return m.finished();
}

Hardware hardware_of(Topology topology) {
  Hardware hardware;
  hardware.axes["*"] = Link{};
  hardware.topology = topology;
  return hardware;
}

std::vector<std::string> plain(const Model& model, const Layout& fixed, const SpaceLimits& limits = {},
                               Topology topology = Topology::kRing) {
  const SearchSpace space(model, fixed, hardware_of(topology), limits);
  std::vector<std::string> texts;
  for (const std::vector<uint16_t>& choice : plain_choices(model, space))
    texts.push_back(to_string(space.layout(choice)));
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "the batch is split over all axes, then beside the weights, then the weights, then the batch over each "
    "axis") {
  CHECK(plain(transformer(8), {Mesh({{"r", 2}, {"c", 4}}), {}}) ==
        Texts{"batch:r+c", "batch:r,heads:c,vocab:c", "batch:c,heads:r,vocab:r", "heads:r+c,vocab:r+c",
              "batch:r", "batch:c"});
  CHECK(plain(transformer(8), {Mesh({{"all", 4}}), {}}) == Texts{"batch:all", "heads:all,vocab:all"});
}

TEST_CASE("dimensions of weights with fewer elements than parts are left whole") {
  CHECK(plain(transformer(3), {Mesh({{"all", 4}}), {}}) == Texts{"batch:all", "d_kv:all,vocab:all"});
}

TEST_CASE("rules that are kept, and limits of the search, hold for plain layouts too") {
  const Model model = transformer(8);
  const Mesh mesh({{"r", 2}, {"c", 4}});
  CHECK(plain(model, {mesh, {{"vocab", {1}, {}}}}) ==
        Texts{"vocab:c,batch:r", "vocab:c,batch:r,heads:c", "vocab:c,heads:r", "vocab:c,heads:r+c"});
  SpaceLimits limits;
  limits.dims = {"batch", "vocab"};
  limits.most_axes = 1;
  CHECK(plain(model, {mesh, {}}, limits) ==
        Texts{"batch:c", "batch:r,vocab:c", "batch:c,vocab:r", "vocab:c", "batch:r"});
  SpaceLimits even;
  even.allow_uneven = false;
  CHECK(plain(model, {Mesh({{"a", 3}}), {}}, even) == Texts{""});
}

TEST_CASE("of layouts that are mirror images one is tried") {
  const Layout square{Mesh({{"r", 2}, {"c", 2}}), {}};
  const Texts ring = plain(transformer(8), square),
              torus = plain(transformer(8), square, {}, Topology::kTorus);
  CHECK(ring.size() == 6);
  CHECK(torus == Texts{"batch:r+c", "batch:r,heads:c,vocab:c", "heads:r+c,vocab:r+c", "batch:r"});
}

}  // namespace mtfc::plain_layouts_test
