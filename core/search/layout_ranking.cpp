#include "core/search/layout_ranking.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

namespace mtfc {
namespace {

constexpr double kSameTime = 1e-12;

bool same_figures(const FoundLayout& a, const FoundLayout& b) {
  return std::abs(a.step_s - b.step_s) <= kSameTime * b.step_s && a.memory == b.memory && a.sent == b.sent &&
         a.flops == b.flops;
}

// Orders layouts by ease of reading: few rules, few axes, and axes in the order of the mesh.
bool is_simpler(const FoundLayout& a, const FoundLayout& b) {
  const auto key = [](const FoundLayout& found) {
    size_t axes = 0;
    std::vector<std::pair<std::string, AxisList>> rules;
    for (const Rule& rule : found.layout.rules) {
      axes += rule.axes.size();
      rules.emplace_back(rule.dim, rule.axes);
    }
    return std::tuple(rules.size(), axes, to_string(found.layout.mesh), rules);
  };
  return key(a) < key(b);
}

}  // namespace

bool is_better(const FoundLayout& a, const FoundLayout& b) {
  if (a.step_s != b.step_s) return a.step_s < b.step_s;
  if (a.memory != b.memory) return a.memory < b.memory;
  return is_simpler(a, b);
}

void LayoutRanking::add(FoundLayout found) {
  for (FoundLayout& other : layouts_) {
    if (!same_figures(found, other)) continue;
    found.equals = ++other.equals;
    if (is_simpler(found, other)) other = std::move(found);
    return;
  }
  const auto place = std::find_if(layouts_.begin(), layouts_.end(),
                                  [&](const FoundLayout& other) { return is_better(found, other); });
  layouts_.insert(place, std::move(found));
  if (layouts_.size() > top_) layouts_.pop_back();
}

}  // namespace mtfc
