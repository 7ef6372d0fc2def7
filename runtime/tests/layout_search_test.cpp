// Searches over layouts of random models: the bounds hold, and the result is the best of all rule sets.

#include "core/search/layout_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/compile/pipeline.h"
#include "core/cost/cost.h"
#include "core/model/entry_points.h"
#include "core/search/layout_bound.h"
#include "core/testing/sanitized.h"
#include "runtime/testing/random_models.h"

namespace mtfc::layout_search_test {
namespace {

constexpr uint64_t kCases = kSanitized ? 6 : 20;
constexpr size_t kMostChoices = 400;  // per case

Hardware hardware_of(Topology topology) {
  Hardware hardware;
  hardware.name = "test";
  hardware.flops["f32"] = 1e9;
  hardware.memory_bandwidth = 1e10;
  Link link;
  link.latency_s = 1e-8;
  link.bytes_per_s = 1e9;
  hardware.axes["*"] = link;
  hardware.topology = topology;
  return hardware;
}

struct Tried {
  double step_s = 0;
  int64_t memory = 0;
};

// The compiled rule sets of `space` that keep within their bounds.
std::vector<Tried> tried_all(const SearchSpace& space, const Model& model, const std::string& entry_name,
                             const Hardware& hardware) {
  const Program alone = compile(model, {}, {});
  const PreparedModel prepared(model, {});
  const std::vector<PreparedModel::Part> parts = prepared.parts(entry_name);
  const LayoutBound bound(space, model, hardware, alone, parts, entry_name);
  std::vector<Tried> tried;
  space.each([&](RuleChoice choice, bool) {
    const Program program = compile(model, space.layout(choice), {});
    const EntryPoint& entry = *program.find(entry_name);
    const double step_s = predicted_time(program, entry, predicted_counts(program, entry), hardware).step_s;
    CAPTURE(to_string(program.layout));
    CHECK(bound.seconds(choice) <= step_s * (1 + 1e-9));
    CHECK(bound.bytes(choice) <= static_cast<double>(program.arena_bytes()) * (1 + 1e-9));
    tried.push_back({step_s, program.arena_bytes()});
    return true;
  });
  return tried;
}

}  // namespace

TEST_CASE("random models: the bounds of all rule sets hold, and the best is found") {
  // A ring has no mirror images, so all rule sets are tried; times are those of a torus.
  const Hardware torus = hardware_of(Topology::kTorus), ring = hardware_of(Topology::kRing);
  size_t searched = 0;
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    CAPTURE(seed);
    const RandomCase drawn = random_case(seed);
    WholeTensors leaves;
    const Model model = model_of(drawn, leaves);
    const Layout fixed{drawn.layout.mesh, {}};
    SearchOptions options;
    options.entry = has_train_entry(model) ? "train" : "evaluate";
    options.top = 1;
    options.limits.most_axes = 2;
    const SearchSpace space(model, fixed, ring, options.limits);
    size_t choices = 0;
    space.each([&](RuleChoice, bool) { return ++choices <= kMostChoices; });
    if (choices < 2 || choices > kMostChoices) continue;
    ++searched;
    std::vector<Tried> tried = tried_all(space, model, options.entry, torus);
    std::sort(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) { return a.memory < b.memory; });
    for (const int64_t limit : {int64_t{0}, tried[tried.size() / 3].memory}) {
      double best = INFINITY;
      for (const Tried& one : tried)
        if (limit == 0 || one.memory <= limit) best = std::min(best, one.step_s);
      options.memory_limit = limit;
      const SearchResult result = search_layouts(model, {fixed}, torus, options);
      REQUIRE(result.best.size() == 1);
      CHECK(result.shortest_s == doctest::Approx(best).epsilon(1e-9));
      CHECK(result.best[0].step_s <= best * 1.0101);
    }
  }
  CHECK(searched > kCases / 3);
}

}  // namespace mtfc::layout_search_test
