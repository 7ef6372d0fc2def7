#include "runtime/testing/ring_cases.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "core/program/ring.h"

namespace mtfc {

Layout drawn_ring_layout(const Model& model, const Mesh& mesh, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t count) { return static_cast<size_t>(random() % count); };
  Layout layout{mesh, {}};
  layout.rings = {{"**"}};
  for (const char* name : {"x0", "x1", "y0"}) {
    const Dims& dims = model.graph.type(model.graph.find(name)).dims;
    AxisList axes;
    for (size_t i = 0; i < mesh.axes().size(); ++i) axes.push_back(static_cast<int>(i));
    std::shuffle(axes.begin(), axes.end(), random);
    std::map<std::string, AxisList> splits;
    for (const int axis : axes)
      if (!dims.empty() && below(4) > 0) splits[dims[below(dims.size())].name].push_back(axis);
    std::vector<Rule> rules;
    for (auto& [dim, list] : splits) rules.push_back({dim, std::move(list), {}});
    layout.annotations.push_back({name, std::move(rules), {}});
  }
  return layout;
}

void count_rings(const Program& program, const EntryPoint& entry, std::map<std::string, int64_t>& forms) {
  for (const Step& step : entry.steps) {
    if (step.kind() != StepKind::kRing) continue;
    const Ring ring(entry, step, program.mesh());
    ++forms[ring.passes_result() ? "passes" : ring.adds() ? "adds" : "joins"];
  }
}

}  // namespace mtfc
